import { request } from "node:http";
import t from "tap";
import type { EventDraft } from "../../../src/domain/events/record-events.ts";
import { HOUR } from "../../../src/runtime/durations.ts";
import { configureWebhook, makeEvents } from "../../fixtures/events/events.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const PATH = "/api/webhooks/events/retry";
const since = new Date(Date.now() - HOUR).toISOString();

const isCount = (text: string) => text.includes("count(*) filter");
const isReplay = (text: string) => text.includes("update deliveries d");

const RUNNING_COUNTS = `
  select
  from pg_stat_activity
  where query like '%count(*) filter%'
  and wait_event_type = 'Lock'
  and datname = current_database()`;

/** A client with failed events; `extra` are further ones of other kinds. */
async function makeFailedEvents(api: Api, count: number, ...extra: Partial<EventDraft>[]) {
  const tenant = await makeTenant(api);
  await configureWebhook(api, tenant);
  const ids = await makeEvents(api, tenant, ...Array.from({ length: count }, () => ({})), ...extra);
  await api.db.query("update deliveries set state = 'failed' where client_id = $1", [tenant.id]);
  const { headers } = await tenant.createKey("webhooks:manage");
  return {
    headers,
    ids,
    retryAll: (json: object = {}) => api.call("POST", PATH, { headers, json: { since, ...json } }),
    async countFailed() {
      const rows = await api.db.query("select from deliveries where client_id = $1 and state = 'failed'", [
        tenant.id,
      ]);
      return rows.length;
    },
  };
}

t.test("limits of bulk retries", async (t) => {
  let beforeStatement: (text: string) => Promise<void> = async () => {};
  const { statements, database } = watchStatements((text) => beforeStatement(text));
  const api = await startApi(t, { database });
  t.afterEach(() => {
    beforeStatement = async () => {};
  });

  t.test("a dry run counts with one statement", async (t) => {
    const { retryAll } = await makeFailedEvents(api, 1_200);
    await retryAll({ dry_run: true }); // authenticates, which is cached then
    statements.length = 0;
    const by_type = { "message.received": 1_200 };
    t.same((await retryAll({ dry_run: true })).body, { queued: 1_200, not_redispatched: 0, by_type });
    const [settings, ...rest] = statements.filter((text) => /deliveries|statement_timeout/.test(text));
    t.match(settings, /^set local statement_timeout = 4000/);
    t.equal(rest.length, 1);
  });

  t.test("a type that never occurs with the key costs nothing", async (t) => {
    const { retryAll } = await makeFailedEvents(api, 1);
    const impossible = { key: "chatapp", type: "lead.created" };
    await retryAll(impossible); // authenticates, which is cached then
    statements.length = 0;
    for (const dry_run of [true, false]) {
      const { status, body } = await retryAll({ ...impossible, dry_run });
      t.equal(status, 202);
      t.same(body, { queued: 0, not_redispatched: 0, by_type: {} });
    }
    t.same(statements, []);
  });

  t.test("events that are delivered while a bulk retry runs are not counted", async (t) => {
    const { retryAll, ids } = await makeFailedEvents(api, 3, { type: "message.status" });
    beforeStatement = async (text) => {
      if (!isReplay(text)) return;
      beforeStatement = async () => {};
      await api.db.query("update deliveries set state = 'delivered' where id = $1", [ids[0]]);
    };
    const by_type = { "message.received": 2, "message.status": 1 };
    t.same((await retryAll()).body, { queued: 3, not_redispatched: 0, by_type });
  });

  t.test("a dry run that Postgres does not finish in time is 503", async (t) => {
    const { retryAll } = await makeFailedEvents(api, 1);
    await api.db.transaction(async (tx) => {
      await tx.query("lock table deliveries in access exclusive mode");
      const { status, body } = await retryAll({ dry_run: true });
      t.equal(status, 503);
      t.match(body, { error: "overloaded", message: /shorter period/ });
    });
    t.match(await retryAll({ dry_run: true }), { status: 202, body: { queued: 1 } });
  });

  t.test("a dry run ends in Postgres when its caller has disconnected", async (t) => {
    const { headers } = await makeFailedEvents(api, 1);
    await api.db.transaction(async (tx) => {
      await tx.query("lock table deliveries in access exclusive mode");
      const isCounting = async () => (await api.db.query(RUNNING_COUNTS)).length > 0;
      const outgoing = request(api.address + PATH, { method: "POST", headers, agent: false });
      outgoing.on("error", () => {}).end(JSON.stringify({ since, dry_run: true }));
      await until("Postgres waits for the lock", isCounting);
      outgoing.destroy();
      const startedAt = performance.now();
      await until("Postgres has ended the statement", async () => !(await isCounting()));
      t.ok(performance.now() - startedAt < 3_500, "long before its time-out");
    });
    t.notOk(api.lines.some(({ event }) => event === "http.failed"));
  });

  t.test("a client runs one bulk retry at a time", async (t) => {
    const [one, other] = [await makeFailedEvents(api, 1), await makeFailedEvents(api, 1)];
    let [release, isStarted] = [() => {}, false];
    beforeStatement = async (text) => {
      if (isStarted || !isCount(text)) return;
      isStarted = true;
      await new Promise<void>((resolve) => (release = resolve));
    };
    const first = one.retryAll({ dry_run: true });
    await until("the first retry is in progress", () => isStarted);
    for (const dry_run of [true, false]) {
      const { status, headers, body } = await one.retryAll({ dry_run });
      t.equal(status, 429);
      t.equal(headers.get("retry-after"), "5");
      t.match(body, { error: "rate_limited" });
      t.equal((await other.retryAll({ dry_run })).status, 202, "another client's retry");
    }
    release();
    t.equal((await first).status, 202);
    t.match(await one.retryAll(), { status: 202, body: { queued: 1 } });
  });

  t.test("a bulk retry stops when its caller has disconnected", async (t) => {
    const { headers, retryAll, countFailed } = await makeFailedEvents(api, 1_600);
    const outgoing = request(api.address + PATH, {
      method: "POST",
      headers: { ...headers, "x-request-id": "gone" },
      agent: false,
    });
    outgoing.on("error", () => {});
    let replays = 0;
    beforeStatement = async (text) => {
      if (!isReplay(text)) return;
      replays += 1;
      if (outgoing.destroyed) return;
      await new Promise<void>((resolve) => outgoing.once("close", resolve).destroy());
      await fetch(`${api.address}/healthz`); // the server has then seen the end of the connection before it
    };
    outgoing.end(JSON.stringify({ since }));
    const line = await until("the retry has ended", () =>
      api.lines.find(({ event, request_id }) => event === "http.request" && request_id === "gone"),
    );
    t.equal(line.status, 202);
    t.equal(replays, 1, "no step after the one in progress");
    const failed = await countFailed();
    t.ok(failed > 0, `${failed} events are unchanged`);
    t.match(await retryAll(), { status: 202, body: { queued: failed } }, "the rest can be retried");
  });
});
