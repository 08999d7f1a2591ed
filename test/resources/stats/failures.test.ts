import { randomBytes } from "node:crypto";
import t from "tap";
import { addressOf, MAX_ADDRESS_CHARS } from "../../../src/delivery/webhook-address.ts";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { DAY, HOUR, MINUTE } from "../../../src/runtime/durations.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { CAUSES } from "../../../src/schema/causes/causes.ts";
import { configureWebhook, makeEvents, updateDelivery } from "../../fixtures/events/events.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { insertMessage } from "../../fixtures/messages/message-rows.ts";
import { createCommandRunner } from "../../fixtures/processes/command-line.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { untilAnyBlocked } from "../../fixtures/servers/lock-waits.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { makeTenant, type Tenant } from "../../fixtures/tenants/tenants.ts";

const NOW = Date.now();
const minutesAgo = (minutes: number) => new Date(NOW - minutes * MINUTE);
const iso = (minutes: number) => minutesAgo(minutes).toISOString();

type Group = Record<string, unknown> & { cause: string; count: number };

async function createReader(api: Api, tenant: Tenant, ...scopes: Parameters<Tenant["createKey"]>) {
  const { headers } = await tenant.createKey(...scopes);
  return (query = "") => api.call("GET", `/api/stats/failures${query}`, { headers });
}

t.test("failures by cause", async (t) => {
  const settings = await testSettings(t);
  const api = await startApi(t, { config: readConfig(settings) });
  const tenant = await makeTenant(api);
  const read = await createReader(api, tenant, "messages:send", "webhooks:manage");
  const [channel, second] = [newId("ch"), newId("ch")];
  const failMessage = (client: Tenant, columns: object) =>
    insertMessage(api, client, { status: "failed", channel_id: channel, error_code: "131026", ...columns });
  const failDelivery = async (client: Tenant, key: "chatapp" | "marketing" | null, columns: object) => {
    const [id] = await makeEvents(api, client, { key });
    await updateDelivery(api, id as string, {
      state: "failed",
      url: "https://shop.example.com:8443/secret/path/chat",
      last_status_code: 503,
      last_error: "HTTP 503",
      failed_at: minutesAgo(1),
      ...columns,
    });
    return id as string;
  };
  await configureWebhook(api, tenant);

  await failMessage(tenant, { error_code: "131047", failed_at: minutesAgo(50) });
  await failMessage(tenant, { error_code: "10/2534022", failed_at: minutesAgo(30) });
  const newestMessage = await failMessage(tenant, { error_code: "131047", failed_at: minutesAgo(40) });
  const unreachable = await failMessage(tenant, { channel_id: second, failed_at: minutesAgo(5) });
  await failMessage(tenant, { failed_at: new Date(NOW - 25 * HOUR) });
  await insertMessage(api, tenant, { status: "read", channel_id: channel, failed_at: minutesAgo(5) });
  await failDelivery(tenant, "chatapp", { failed_at: minutesAgo(9) });
  const otherUrl = { url: "https://shop.example.com:8443/secret/path/chat/sendResult" };
  const newestEvent = await failDelivery(tenant, "chatapp", { ...otherUrl, failed_at: minutesAgo(8) });
  const refused = await failDelivery(tenant, null, {
    last_status_code: null,
    last_error: "not an HTTP answer",
  });
  const internal = await failDelivery(tenant, "marketing", {
    last_status_code: null,
    last_error: "internal",
    url: null,
  });

  const MESSAGES = [
    {
      kind: "message",
      channel_id: channel,
      cause: "window_closed",
      summary: CAUSES.window_closed.summary,
      status_code: null,
      count: 3,
      first_at: iso(50),
      last_at: iso(30),
      sample_id: newestMessage,
    },
    {
      kind: "message",
      channel_id: second,
      cause: "recipient_unreachable",
      summary: CAUSES.recipient_unreachable.summary,
      status_code: null,
      count: 1,
      first_at: iso(5),
      last_at: iso(5),
      sample_id: unreachable,
    },
  ];
  const [HTTP, NO_HTTP, INTERNAL] = [
    {
      kind: "delivery",
      key: "chatapp",
      host: "shop.example.com:8443",
      cause: "http_status",
      summary: "Your backend answered with HTTP 503.",
      status_code: 503,
      count: 2,
      first_at: iso(9),
      last_at: iso(8),
      sample_id: newestEvent,
    },
    {
      kind: "delivery",
      key: null,
      host: "shop.example.com:8443",
      cause: "not_an_http_answer",
      summary: "The last attempt failed: not an HTTP answer.",
      status_code: null,
      count: 1,
      first_at: iso(1),
      last_at: iso(1),
      sample_id: refused,
    },
    {
      kind: "delivery",
      key: "marketing",
      cause: "internal",
      summary: "The last attempt failed: internal.",
      status_code: null,
      count: 1,
      first_at: iso(1),
      last_at: iso(1),
      sample_id: internal,
    },
  ];

  t.test("the last 24 hours are grouped by place and cause, most frequent first", async (t) => {
    const { status, body, text } = await read();
    t.equal(status, 200);
    t.same(
      body.data.map(({ count }: Group) => count),
      [3, 2, 1, 1, 1],
    );
    for (const group of [...MESSAGES, HTTP, NO_HTTP, INTERNAL])
      t.ok(
        body.data.some((found: Group) => JSON.stringify(found) === JSON.stringify(group)),
        `${group.cause}`,
      );
    t.notMatch(text, "secret", "no path of an address is shown");
  });

  t.test("a scope shows its part, and a credential without either none", async (t) => {
    const kindsOf = async (...scopes: Parameters<Tenant["createKey"]>) => {
      const { status, body } = await (await createReader(api, tenant, ...scopes))();
      return status === 200 ? [...new Set(body.data.map(({ kind }: { kind: string }) => kind))] : status;
    };
    t.same(await kindsOf("messages:send"), ["message"]);
    t.same(await kindsOf("webhooks:manage"), ["delivery"]);
    t.same(await kindsOf("marketing:read", "templates:manage"), 403);
  });

  t.test("since and until choose the failures by the time at which they ended", async (t) => {
    const countsOf = async (query: string) =>
      (await read(query)).body.data.map(({ cause, count }: Group) => `${cause} ${count}`).sort();
    t.same(await countsOf(`?since=${iso(40)}&until=${iso(30)}`), ["window_closed 2"], "both inclusive");
    t.same(await countsOf(`?until=${iso(9)}`), ["http_status 1", "window_closed 3"]);
    const longest = new Date(Date.now() - 31 * DAY).toISOString();
    t.same(await countsOf(`?since=${longest}`), [
      "http_status 2",
      "internal 1",
      "not_an_http_answer 1",
      "recipient_unreachable 1",
      "recipient_unreachable 1",
      "window_closed 3",
    ]);
    t.same(await countsOf(`?since=${new Date(NOW + HOUR).toISOString()}`), []);
    for (const year of ["0000", "9999"])
      t.same(await countsOf(`?since=${year}-12-30T00:00:00Z&until=${year}-12-31T23:59:59.999Z`), [], year);
  });

  t.test("the times of a group find the group again", async (t) => {
    const precise = await makeTenant(api);
    const id = await failMessage(precise, {});
    await api.db.query(
      "update messages set failed_at = date_trunc('second', now()) + interval '123456 us' where id = $1",
      [id],
    );
    const readPrecise = await createReader(api, precise, "messages:send");
    const { first_at, last_at } = (await readPrecise(`?until=${new Date(NOW + HOUR).toISOString()}`)).body
      .data[0];
    t.match((await readPrecise(`?since=${first_at}&until=${last_at}`)).body.data, [{ count: 1 }]);
  });

  t.test("wrong parameters are refused", async (t) => {
    for (const query of [
      "?since=yesterday",
      "?since=2026-11-02T00:00:00Z&until=2026-11-01T00:00:00Z",
      "?since=2026-10-01T00:00:00Z&until=2026-11-01T00:00:00.001Z",
      "?since=2026-12-31T23:59:60Z",
      "?limit=5",
      "?interval=hour",
    ]) {
      const { status, body } = await read(query);
      t.equal(status, 400, query);
      t.equal(body.error, "validation_failed");
    }
  });

  t.test("what is sent again no longer counts, and another client's failures never do", async (t) => {
    const other = await makeTenant(api);
    await configureWebhook(api, other);
    const readOther = await createReader(api, other, "messages:send", "webhooks:manage");
    t.same((await readOther()).body.data, []);
    const id = await failDelivery(other, "chatapp", {});
    t.match((await readOther()).body.data, [{ cause: "http_status", sample_id: id }]);
    const { headers } = await other.createKey("webhooks:manage");
    t.equal((await api.call("POST", `/api/webhooks/events/${id}/retry`, { headers })).status, 202);
    t.same((await readOther()).body.data, []);
  });

  t.test("a test event that fails counts", async (t) => {
    const tester = await makeTenant(api);
    await configureWebhook(api, tester, { url: "https://127.0.0.1:1/hooks" });
    const { headers } = await tester.createKey("webhooks:manage");
    const { body } = await api.call("POST", "/api/webhooks/test", { headers, json: { key: "chatapp" } });
    t.equal(body.delivered, false);
    const groups = (await (await createReader(api, tester, "webhooks:manage"))()).body.data;
    t.match(groups, [{ kind: "delivery", key: "chatapp", host: "127.0.0.1:1", sample_id: body.event_id }]);
  });

  t.test("a failure at the longest address is stored and counted", async (t) => {
    const long = await makeTenant(api);
    const base = `https://long.example/${randomBytes(1_024).toString("hex")}`.slice(0, MAX_ADDRESS_CHARS);
    await failDelivery(long, "chatapp", { url: addressOf(base, "chatapp", "template.status_updated") });
    const { data } = (await (await createReader(api, long, "webhooks:manage"))()).body;
    t.match(data, [{ host: "long.example", count: 1 }]);
  });

  t.test("the reply has the 50 largest groups", async (t) => {
    const large = await makeTenant(api);
    for (let index = 0; index < 60; index++)
      await failMessage(large, { channel_id: newId("ch"), failed_at: minutesAgo(1) });
    await failMessage(large, { failed_at: minutesAgo(1) });
    await failMessage(large, { failed_at: minutesAgo(1) });
    const { data } = (await (await createReader(api, large, "messages:send"))()).body;
    t.equal(data.length, 50);
    t.equal(data[0].count, 2);
  });

  t.test("a client reads its failures once at a time", async (t) => {
    const holder = await connectRawClient(t, api.config.DATABASE_URL);
    await holder.query("begin; lock table deliveries in access exclusive mode");
    const reads = Array.from({ length: 5 }, () => read());
    await untilAnyBlocked(holder);
    t.match(await Promise.any(reads), { status: 429, body: { error: "rate_limited" } });
    await holder.query("rollback");
    const others = (await Promise.all(reads)).filter(({ status }) => status !== 429);
    t.equal(others.length, 1, "the others were refused at once");
  });

  t.test("herald stats failures prints the same groups", async (t) => {
    const herald = createCommandRunner(t, settings);
    const { json } = await herald(`stats failures --client ${tenant.id} --json`);
    t.same(json, (await read()).body);
    const { out } = await herald(`stats failures --client ${tenant.id}`);
    t.match(out, /^count +kind +subject +host +cause +status_code +last_at +sample_id\n3 +message +ch_/);
    t.match(out, /\n2 +delivery +chatapp +shop\.example\.com:8443 +http_status +503 /);
    t.match(await herald(`stats failures --client ${tenant.id} --since 2026-01-01T00:00:00Z`), {
      code: 2,
      err: /--since must be at most 31 days before --until/,
    });
    t.match(await herald(`stats failures --client ${"0".repeat(8)}-0000-4000-8000-${"0".repeat(12)}`), {
      code: 1,
      err: /there is no client/,
    });
  });
});
