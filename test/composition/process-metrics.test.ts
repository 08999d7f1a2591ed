import t from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { startApi } from "../fixtures/http/api.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { issueChatToken, WABA_ID } from "../fixtures/sandbox/assets.ts";
import { callSandbox, startSandbox } from "../fixtures/sandbox/sandbox.ts";
import { makeChannel } from "../fixtures/tenants/channels.ts";
import { createTemplateClient } from "../fixtures/tenants/templates.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const METRICS_TOKEN = "a token for the metrics of a test";

/** The value of a metric of web without further labels. */
const valueIn = (text: string, name: string): number =>
  Number(new RegExp(`^${name}\\{process="web"\\} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);

t.test("web exports the state of its connections to Postgres", async (t) => {
  const settings = await testSettings(t, { METRICS_TOKEN, DATABASE_POOL: "4" });
  const api = await startApi(t, { config: readConfig(settings) });
  const read = async () => {
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
    const { text } = await api.call("GET", "/metrics", { headers });
    return {
      up: valueIn(text, "herald_postgres_up"),
      used: valueIn(text, "herald_postgres_connections_used"),
      waiting: valueIn(text, "herald_postgres_connections_waiting"),
      max: valueIn(text, "herald_postgres_connections_max"),
    };
  };
  await until("Postgres answers and nothing uses a connection", async () => {
    const { up, used } = await read();
    return up === 1 && used === 0;
  });
  t.match(await read(), { up: 1, waiting: 0, max: 4 });

  const releases: (() => void)[] = [];
  const release = () => {
    for (const end of releases.splice(0)) end();
  };
  t.teardown(release);
  const hold = () =>
    api.db.forKey("a client").transaction(() => new Promise<void>((resolve) => releases.push(resolve)));
  const held = [hold(), hold(), hold()];
  await until("the share of the client is used, and one waits", async () => {
    const { used, waiting } = await read();
    return used >= 2 && waiting === 1;
  });
  t.match(await read(), { up: 1, max: 4 }, "the other connections answer");
  await until("all have ended", () => {
    release();
    return Promise.race([
      Promise.all(held).then(() => true),
      new Promise<false>((resolve) => setImmediate(resolve, false)),
    ]);
  });
  await until("nothing waits", async () => {
    const { used, waiting } = await read();
    return used === 0 && waiting === 0;
  });
});

t.test("web exports that Postgres does not answer, and logs it once", async (t) => {
  const DATABASE_URL = "postgres://none@127.0.0.1:1/none";
  const settings = { ...(await testSettings(t, { METRICS_TOKEN })), DATABASE_URL };
  const api = await startApi(t, { config: readConfig(settings) });
  const failures = () => api.lines.filter(({ event }) => event === "postgres.failed");
  await until("the outage is logged", () => failures().length > 0);
  const { text } = await api.call("GET", "/metrics", {
    headers: { authorization: `Bearer ${METRICS_TOKEN}` },
  });
  t.equal(valueIn(text, "herald_postgres_up"), 0);
  t.match(failures(), [{ level: "warn", err: /ECONNREFUSED/ }]);
  t.equal(failures().length, 1);
});

t.test("web counts the calls to platforms by outcome, and measures those that were sent", async (t) => {
  const sandbox = await startSandbox(t);
  const settings = { METRICS_TOKEN, SANDBOX_PORT: new URL(sandbox.origin).port };
  const api = await startApi(t, { settings });
  const tenant = await makeTenant(api);
  const channelId = await makeChannel(api, tenant, { wabaId: WABA_ID, token: issueChatToken([WABA_ID]) });
  const templates = await createTemplateClient(api, tenant, channelId);
  const list = async () => (await templates.list()).status;
  const readCounts = async () => {
    const { text } = await api.call("GET", "/metrics", {
      headers: { authorization: `Bearer ${METRICS_TOKEN}` },
    });
    const counters = text.matchAll(
      /^herald_platform_calls_total\{platform="chat",outcome="(\w+)",process="web"\} (\d+)$/gm,
    );
    const sent = /^herald_platform_call_duration_seconds_count\{[^}]*platform="chat"[^}]*\} (\d+)$/m;
    return {
      ...Object.fromEntries([...counters].map(([, outcome, count]) => [outcome, Number(count)])),
      measured: Number(sent.exec(text)?.[1] ?? 0),
    };
  };
  t.same(await readCounts(), { measured: 0 });
  t.equal(await list(), 200);
  t.same(await readCounts(), { done: 2, measured: 2 }, "the templates and their namespace");
  await callSandbox(`${sandbox.origin}/_sandbox/faults`, { json: { kind: "throttle", ms: 600_000 } });
  t.equal(await list(), 429);
  t.equal(await list(), 429);
  t.same(await readCounts(), { done: 2, throttled: 1, paused: 1, measured: 3 });
});
