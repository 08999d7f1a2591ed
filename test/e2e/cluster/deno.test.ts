import t from "tap";
import { checkEventFlow } from "../../fixtures/events/event-flow.ts";
import { openStream } from "../../fixtures/events/event-stream.ts";
import { imageOfSize, MIB, TINY_IMAGES } from "../../fixtures/images/images.ts";
import { startLocalCluster } from "../../fixtures/processes/local-cluster.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { unconnectedSettings } from "../../fixtures/processes/settings.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { cloneDatabase } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

const METRICS_TOKEN = "a-token-of-the-operator";
const runtime = "deno" as const;

t.test("the sources run under Deno without a build, with only the permissions they need", async (t) => {
  const DATABASE_URL = await cloneDatabase(t, "template0");
  const migrate = startProcess(t, "migrate", { ...unconnectedSettings(), DATABASE_URL }, { runtime });
  await migrate.waitForLine("migrations.applied");

  const extra = { DATABASE_URL, METRICS_TOKEN, CRON_MAINTENANCE: "* * * * * *", WEB_CONCURRENCY: "2" };
  const log = { LOG_FORMAT: "json", LOG_LEVEL: "debug" };
  const cluster = await startLocalCluster(t, { runtime, log, extra });
  const { web, dispatcher, settings, apiKey, owner } = cluster;
  await web.waitForLine("watchdog.started");
  t.match(await web.waitForLine("web.fork_skipped"), { level: "warn", forks: 2 });
  const scheduler = startProcess(t, "scheduler", settings, { runtime });
  await t.test("events are delivered", (t) => checkEventFlow(t, cluster));

  const ready = await until("ready", async () => {
    const { body } = await web.call("GET", "/readyz");
    return body.status === "ready" ? body : undefined; // on a slow machine a server may miss the probe's timeout
  });
  t.same(ready, { status: "ready", postgres: "ok", redis: "ok" });
  const wrong = await web.call("GET", "/healthz?x=%00");
  t.equal(wrong.status, 400);
  t.match(wrong.body, { error: "validation_failed", request_id: /^req_/ });
  t.equal((await web.call("POST", "/healthz", { raw: "x" })).headers.get("allow"), "GET, HEAD");
  t.match(
    (await web.call("GET", "/embed/callback")).text,
    /<script nonce="[^"]+">.{500}/,
    "the signup page is built",
  );
  const metrics = await web.call("GET", "/metrics", {
    headers: { authorization: `Bearer ${METRICS_TOKEN}` },
  });
  t.match(metrics.text, /nodejs_eventloop_lag_seconds\{process="web"\}/);

  const login = await web.call("POST", "/api/auth/login", { json: owner });
  t.match(login.body, { token: /^ey/, user: { role: "owner" } });
  for (const headers of [{ "x-svc-api-key": apiKey }, { authorization: `Bearer ${login.body.token}` }])
    t.match((await web.call("GET", "/api/auth/me", { headers })).body, { client_name: "Demo client" });
  const headers = { "x-svc-api-key": apiKey };
  const [{ channel_id }] = (await web.call("GET", "/api/channels?platform=chatapp", { headers })).body.data;
  const raw = "coffee ".repeat(100_000);
  const { media_id } = (await web.call("POST", `/api/channels/${channel_id}/media`, { headers, raw })).body;
  t.equal((await web.call("GET", `/api/channels/${channel_id}/media/${media_id}`, { headers })).text, raw);
  const accounts = await web.call("GET", "/api/marketing/ad-accounts?status=active", { headers });
  const { ad_account_id } = accounts.body.data[0];
  // One image has memory of its own, the other shares it: each is transferred to a thread and back.
  for (const bytes_base64 of [imageOfSize(7 * MIB), TINY_IMAGES.png]) {
    const json = { ad_account_id, bytes_base64 };
    const uploaded = await web.call("POST", "/api/marketing/images", { headers, json });
    t.match(uploaded, { status: 200, body: { width: 3, height: 2 } });
  }
  const noImage = { ad_account_id, bytes_base64: "?" };
  t.match(await web.call("POST", "/api/marketing/images", { headers, json: noImage }), {
    status: 400,
    body: { error: "invalid_image" },
  });
  t.equal((await web.call("GET", "/api/docs")).status, 200);
  const [script = ""] =
    /\/console\/assets\/main-\w+\.js/.exec((await web.call("GET", "/console")).text) ?? [];
  const encoded = { headers: { "accept-encoding": "br" } };
  const { status, headers: scriptHeaders } = await web.call("GET", script, encoded);
  t.same([status, scriptHeaders.has("content-encoding")], [200, true]);
  t.match((await web.call("GET", "/docs/guides/errors.md")).text, /^# Errors\n/);
  t.equal((await web.call("GET", "/api/openapi.json")).body.openapi, "3.1.0");

  await t.test("events reach a stream and herald listen", async (t) => {
    const stream = await openStream(t, web.address, { headers });
    const env = { HERALD_URL: web.address, HERALD_API_KEY: apiKey, XDG_STATE_HOME: makeTempFolder(t) };
    const listen = startProcess(t, "herald", env, { runtime, args: ["listen", "--json"] });
    await until("listen is connected", () => listen.stderr().includes("Connected"));
    const json = { type: "message.received", wait: false };
    const { event_id } = (await web.call("POST", "/api/webhooks/test", { headers, json })).body;
    await stream.untilItems(event_id);
    await until("listen prints the event", () => listen.stdout().includes(event_id));
    stream.close();
    t.equal(await listen.stop("SIGINT"), 0);
  });

  await t.test("a send whose connection breaks is sent once", async (t) => {
    const send = (to: string) =>
      cluster.callApi("POST", "/api/outbound/send", { channel_id, to, type: "text", text: { body: "Hi" } });
    const untilSent = async (to: string, outcome: string) => {
      const { message_id } = (await send(to)).body;
      await dispatcher.waitForLine("message.sent", { message_id, outcome });
    };
    await untilSent("5511900000001", "accepted"); // opens the connection that the next send reuses
    await cluster.arm({ kind: "drop_after", match: { method: "POST" } });
    await untilSent("5511900000002", "unknown");
    const sent = (await cluster.requests()).flatMap(({ body }) => body?.to ?? []);
    t.equal(sent.filter((to) => to === "5511900000002").length, 1);
  });

  // On a slow machine a tick may find the last run unfinished.
  await scheduler.waitForLine("cron.ran", { job: "maintenance", outcome: "ok" });
  for (const process of [web, dispatcher, scheduler]) {
    t.equal(await process.stop(), 0);
    t.match(process.lines().at(-1), { event: "process.stopped", clean: true });
  }
});

t.test("wrong settings are reported under Deno", async (t) => {
  const migrate = startProcess(t, "migrate", {}, { runtime });
  t.equal(await migrate.ended(), 1);
  t.match(migrate.stderr(), /^herald migrate cannot start, 4 wrong settings:/m);
});
