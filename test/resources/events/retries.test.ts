import t from "tap";
import { DAY, HOUR, MINUTE } from "../../../src/runtime/durations.ts";
import { newId } from "../../../src/runtime/ids.ts";
import type { NewEvent } from "../../../src/store/events/insert-events.ts";
import {
  configureWebhook,
  makeEventAt,
  makeEvents,
  readDelivery,
  updateDelivery,
} from "../../fixtures/events/events.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const ABSENT = "evt_01k9zv3m5q8x7w2r4t6y0a1b2c";
const NOTHING_QUEUED = { queued: 0, not_redispatched: 0, by_type: {} };
const isoAgo = (milliseconds: number) => new Date(Date.now() - milliseconds).toISOString();

/** A client with a webhook_url, and its API calls for retries. */
async function retriesOf(api: Api) {
  const tenant = await makeTenant(api);
  await configureWebhook(api, tenant);
  const { headers } = await tenant.createKey("webhooks:manage");
  return {
    tenant,
    retry: (id: string) => api.call("POST", `/api/webhooks/events/${id}/retry`, { headers }),
    retryAll: (json: unknown) => api.call("POST", "/api/webhooks/events/retry", { headers, json }),
    recordEvents: async (...drafts: Parameters<typeof makeEvents>[2][]) => makeEvents(api, tenant, ...drafts),
  };
}

t.test("event retries", async (t) => {
  const api = await startApi(t);

  t.test("a retry makes the delivery due in every state and restarts its schedule and deaths", async (t) => {
    const { retry, recordEvents } = await retriesOf(api);
    for (const state of ["pending", "retrying", "delivered", "failed", "skipped", "cancelled"]) {
      const [id] = (await recordEvents({})) as [string];
      await updateDelivery(api, id, {
        state,
        attempts: 13,
        schedule_base: 2,
        deaths: 5,
        is_bulk: true,
        skip_reason: state === "skipped" ? "disabled" : null,
        next_attempt_at: new Date(Date.now() + DAY),
        delivered_at: state === "delivered" ? new Date() : null,
        last_status_code: 503,
        last_error: "The backend answered 503",
      });
      const { status, body } = await retry(id);
      t.equal(status, 202, state);
      const { next_attempt_at, ...event } = body;
      t.match(
        event,
        {
          id,
          status: "pending",
          skip_reason: null,
          attempts: 13,
          last_status_code: 503,
          delivered_at: null,
          redispatched: true,
        },
        state,
      );
      t.ok(Math.abs(Date.parse(next_attempt_at) - Date.now()) < MINUTE, state);
      const restarted = { state: "pending", schedule_base: 13, deaths: 0, is_bulk: false };
      t.match(await readDelivery(api, id), restarted, state);
    }
  });

  t.test(
    "a retry of a delivery in flight leaves it running and restarts its schedule and deaths",
    async (t) => {
      const { tenant, retry, recordEvents } = await retriesOf(api);
      const [id] = (await recordEvents({})) as [string];
      await updateDelivery(api, id, {
        ...{ state: "retrying", attempts: 3, deaths: 4 },
        ...{ worker_id: "wrk_1", claimed_at: new Date() },
      });
      const before = await readDelivery(api, id);
      t.match(await retry(id), { status: 202, body: { status: "pending", redispatched: true } });
      t.same(await readDelivery(api, id), { ...before, schedule_base: 3, deaths: 0 });
      await configureWebhook(api, tenant, { disabledKeys: ["chatapp"] });
      await updateDelivery(api, id, { attempts: 5 });
      t.match(await retry(id), { status: 200, body: { redispatched: false } });
      t.match(
        await readDelivery(api, id),
        { schedule_base: 3 },
        "the schedule is unchanged while the key is disabled",
      );
    },
  );

  t.test("a retry has no effect while the key is disabled or webhook_url is empty", async (t) => {
    const { tenant, retry, recordEvents } = await retriesOf(api);
    const [id] = (await recordEvents({})) as [string];
    for (const [state, status] of [
      ["delivered", "delivered"],
      ["failed", "failed"],
      ["skipped", "skipped"],
      ["retrying", "pending"],
    ] as const)
      for (const config of [
        { disabledKeys: ["chatapp"] },
        { url: null },
        { url: null, disabledKeys: ["chatapp"] },
      ]) {
        await updateDelivery(api, id, { state, attempts: 1 });
        await configureWebhook(api, tenant, config);
        const before = await readDelivery(api, id);
        t.match(await retry(id), { status: 200, body: { id, status, redispatched: false } });
        t.same(await readDelivery(api, id), before);
      }
    await configureWebhook(api, tenant, { disabledKeys: ["photoapp", "marketing"] });
    t.match(await retry(id), { status: 202, body: { redispatched: true } }, "other keys have no influence");
  });

  t.test("events of signups and webhook tests are retried regardless of disabled keys", async (t) => {
    const { tenant, retry, recordEvents } = await retriesOf(api);
    const ids = await recordEvents(
      { type: "channel.connected", key: "embedded_signup" },
      { type: "webhook.test", key: null },
    );
    await configureWebhook(api, tenant, {
      disabledKeys: ["chatapp", "photoapp", "socialapp", "marketing", "publishing"],
    });
    for (const id of ids) t.match(await retry(id), { status: 202, body: { redispatched: true } });
  });

  t.test("a retry has no effect for a client without a webhook configuration", async (t) => {
    const tenant = await makeTenant(api);
    const { headers } = await tenant.createKey("webhooks:manage");
    const [id] = await makeEvents(api, tenant, {});
    const reply = await api.call("POST", `/api/webhooks/events/${id}/retry`, { headers });
    t.match(reply, {
      status: 200,
      body: { redispatched: false, status: "skipped", skip_reason: "not_configured", url: null },
    });
  });

  t.test("a retry concurrent with the end of an attempt is not lost", async (t) => {
    const { retry, recordEvents } = await retriesOf(api);
    const [id] = (await recordEvents({})) as [string];
    await updateDelivery(api, id, { state: "retrying", attempts: 12 });
    let pendingRetry: ReturnType<typeof retry> | undefined;
    await api.db.transaction(async (tx) => {
      await tx.query("delete from delivery_queue where id = $1", [id]);
      await tx.query("update deliveries set state = 'failed', attempts = 13 where id = $1", [id]);
      await tx.query("delete from delivery_queue where id = $1", [id]);
      pendingRetry = retry(id);
      await until("the retry waits for the attempt's lock", async () => {
        const waiting = await api.db.query(
          "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        );
        return waiting.length > 0;
      });
    });
    t.match(await pendingRetry, {
      status: 202,
      body: { status: "pending", attempts: 13, redispatched: true },
    });
    t.match(await readDelivery(api, id), { state: "pending", attempts: 13, schedule_base: 13 });
  });

  t.test("a missing event, or another client's, is not found", async (t) => {
    const [one, other] = [await retriesOf(api), await retriesOf(api)];
    const [id] = (await one.recordEvents({})) as [string];
    await updateDelivery(api, id, { state: "failed" });
    t.equal((await other.retry(id)).status, 404);
    t.equal((await other.retry(ABSENT)).status, 404);
    t.equal((await other.retry("evt_1")).status, 400);
    t.same((await other.retryAll({ since: isoAgo(HOUR) })).body, NOTHING_QUEUED);
    t.match(await readDelivery(api, id), { state: "failed" });
  });

  t.test("a bulk retry queues only failed, skipped and cancelled deliveries", async (t) => {
    const { recordEvents, retryAll } = await retriesOf(api);
    const states = ["pending", "retrying", "delivered", "failed", "skipped", "cancelled"];
    const ids = await recordEvents(...states.map(() => ({})));
    for (const [index, id] of ids.entries())
      await updateDelivery(api, id, { state: states[index], attempts: index });
    const readStates = () => Promise.all(ids.map(async (id) => (await readDelivery(api, id)).state));
    const counts = { queued: 3, not_redispatched: 0, by_type: { "message.received": 3 } };
    t.same((await retryAll({ since: isoAgo(HOUR), dry_run: true })).body, counts);
    t.same(await readStates(), states, "a dry run changes nothing");
    const reply = await retryAll({ since: isoAgo(HOUR), dry_run: false });
    t.equal(reply.status, 202);
    t.same(reply.body, counts);
    t.same(await readStates(), [...states.slice(0, 3), "pending", "pending", "pending"]);
    for (const [index, id] of ids.entries())
      t.match(await readDelivery(api, id), {
        attempts: index,
        is_bulk: index >= 3,
        is_queued: states[index] !== "delivered",
        ...(index >= 3 ? { schedule_base: index } : {}),
      });
    t.same((await retryAll({ since: isoAgo(HOUR) })).body, NOTHING_QUEUED);
  });

  t.test("a bulk retry filters by status, key and time", async (t) => {
    const { tenant, retryAll } = await retriesOf(api);
    const recordDaysAgo = async (days: number, state: string, event = {}) => {
      const id = await makeEventAt(api, tenant, Date.now() - days * DAY, event);
      await updateDelivery(api, id, { state });
    };
    await recordDaysAgo(1, "failed");
    await recordDaysAgo(2, "failed", { key: "marketing", type: "lead.created" });
    await recordDaysAgo(2, "skipped");
    await recordDaysAgo(9, "failed", { type: "webhook.test", key: null });
    await recordDaysAgo(1, "failed", { occurred_at: new Date(Date.now() - 5 * DAY), is_late: true });
    const countMatching = async (input: object) => (await retryAll({ dry_run: true, ...input })).body.queued;
    t.equal(await countMatching({ since: isoAgo(10 * DAY) }), 5, "webhook tests are included");
    t.equal(await countMatching({ since: isoAgo(8 * DAY), status: "failed" }), 3);
    t.equal(await countMatching({ since: isoAgo(10 * DAY), status: "skipped" }), 1);
    t.equal(await countMatching({ since: isoAgo(10 * DAY), key: "marketing" }), 1);
    t.equal(await countMatching({ since: isoAgo(10 * DAY), key: "marketing", status: "skipped" }), 0);
    t.equal(await countMatching({ since: isoAgo(1.5 * DAY) }), 1);
    t.equal(await countMatching({ since: isoAgo(3 * DAY), until: isoAgo(1.5 * DAY) }), 2);
    t.equal(
      await countMatching({ since: isoAgo(8 * DAY), until: isoAgo(4 * DAY) }),
      1,
      "the event recorded late",
    );
    t.equal(await countMatching({ since: isoAgo(8 * DAY), until: isoAgo(6 * DAY) }), 0);
    t.equal((await retryAll({ since: isoAgo(8 * DAY), until: isoAgo(4 * DAY) })).body.queued, 1);
    t.equal(await countMatching({ since: isoAgo(8 * DAY) }), 3);
  });

  t.test("a bulk retry filters by type, channel and message", async (t) => {
    const [{ tenant, retryAll }, other] = [await retriesOf(api), await retriesOf(api)];
    const [channel_id, message_id] = [newId("ch"), newId("msg")];
    const record = async (event: Partial<NewEvent>, owner = tenant, state = "failed") => {
      const id = await makeEventAt(api, owner, Date.now() - DAY, event);
      await updateDelivery(api, id, { state });
      return id;
    };
    const status = { type: "message.status", channel_id, message_id };
    await record({ type: "lead.created", key: "marketing" });
    await record({ channel_id });
    await record(status);
    await record(status, tenant, "skipped");
    await record(status, tenant, "delivered");
    const late = { occurred_at: new Date(Date.now() - 3 * DAY), is_late: true };
    await record({ ...status, type: "message.send_result", ...late });
    const foreign = await record(status, other.tenant);
    const since = isoAgo(2 * DAY);
    const matches: [object, Record<string, number>][] = [
      [{}, { "lead.created": 1, "message.received": 1, "message.status": 2 }],
      [{ type: "lead.created" }, { "lead.created": 1 }],
      [{ type: "message.status", key: "chatapp" }, { "message.status": 2 }],
      [{ type: "message.status", status: "skipped" }, { "message.status": 1 }],
      [{ type: "webhook.test" }, {}],
      [{ channel_id }, { "message.received": 1, "message.status": 2 }],
      [{ channel_id, key: "marketing" }, {}],
      [{ channel_id: newId("ch") }, {}],
      [{ message_id }, { "message.status": 2 }],
      [{ message_id, type: "message.received" }, {}],
      [{ message_id, until: isoAgo(HOUR) }, { "message.status": 2 }],
      [
        { message_id, since: isoAgo(4 * DAY), until: isoAgo(HOUR) },
        { "message.status": 2, "message.send_result": 1 },
      ],
      [{ channel_id, since: isoAgo(4 * DAY), until: isoAgo(2 * DAY) }, { "message.send_result": 1 }],
    ];
    for (const [filters, by_type] of matches) {
      const { body } = await retryAll({ since, dry_run: true, ...filters });
      const queued = Object.values(by_type).reduce((sum, count) => sum + count, 0);
      t.same(body, { queued, not_redispatched: 0, by_type }, JSON.stringify(filters));
    }
    const queueOnce = { since, message_id, type: "message.status" };
    const counts = { queued: 2, not_redispatched: 0, by_type: { "message.status": 2 } };
    t.same((await retryAll(queueOnce)).body, counts);
    t.same((await retryAll(queueOnce)).body, NOTHING_QUEUED);
    t.same((await retryAll({ since, channel_id })).body.by_type, { "message.received": 1 });
    t.same((await retryAll({ since, type: "lead.created" })).body.by_type, { "lead.created": 1 });
    t.match(await readDelivery(api, foreign), { state: "failed" });
  });

  t.test("a bulk retry counts deliveries of disabled keys separately and skips them", async (t) => {
    const { tenant, recordEvents, retryAll } = await retriesOf(api);
    const [chat, lead, signup] = (await recordEvents(
      {},
      { type: "lead.created", key: "marketing" },
      { type: "channel.connected", key: "embedded_signup" },
    )) as [string, string, string];
    for (const id of [chat, lead, signup]) await updateDelivery(api, id, { state: "failed" });
    await configureWebhook(api, tenant, { url: null });
    t.same((await retryAll({ since: isoAgo(HOUR) })).body, { ...NOTHING_QUEUED, not_redispatched: 3 });
    await configureWebhook(api, tenant, { disabledKeys: ["chatapp"] });
    const by_type = { "lead.created": 1, "channel.connected": 1 };
    for (const dry_run of [true, false])
      t.same((await retryAll({ since: isoAgo(HOUR), dry_run })).body, {
        queued: 2,
        not_redispatched: 1,
        by_type,
      });
    t.match(await readDelivery(api, chat), { state: "failed", is_queued: false, is_bulk: false });
    for (const id of [lead, signup])
      t.match(await readDelivery(api, id), { state: "pending", deaths: 0, is_bulk: true });
  });

  t.test("a bulk retry processes more than one batch", async (t) => {
    const { tenant, recordEvents, retryAll } = await retriesOf(api);
    const eventCount = 2_500;
    const types = ["message.status", ...Array(4).fill("message.received")];
    await recordEvents(...Array.from({ length: eventCount }, (_, index) => ({ type: types[index % 5] })));
    await api.db.query("update deliveries set state = 'failed' where client_id = $1", [tenant.id]);
    for (const dry_run of [true, false])
      t.same((await retryAll({ since: isoAgo(HOUR), dry_run })).body, {
        queued: eventCount,
        not_redispatched: 0,
        by_type: { "message.received": 2_000, "message.status": 500 },
      });
    const notQueued = await api.db.query("select 1 from deliveries where client_id = $1 and not is_bulk", [
      tenant.id,
    ]);
    t.equal(notQueued.length, 0);
  });

  t.test("a bulk retry with invalid input gets 400 and has no effect", async (t) => {
    const { recordEvents, retryAll } = await retriesOf(api);
    const [id] = (await recordEvents({})) as [string];
    await updateDelivery(api, id, { state: "failed" });
    const since = isoAgo(HOUR);
    const bad: [string, unknown][] = [
      ["/since", {}],
      ["/since", { since: null }],
      ["/since", { since: "yesterday" }],
      ["/since", { since: Date.now() }],
      ["/since", { since: "2016-12-31T23:59:60Z" }],
      ["/since", { since, until: isoAgo(2 * HOUR) }],
      ["/until", { since, until: null }],
      ["/until", { since, until: "2016-12-31T23:59:60Z" }],
      ["/status", { since, status: "delivered" }],
      ["/status", { since, status: ["failed"] }],
      ["/key", { since, key: "messages" }],
      ["/key", { since, key: null }],
      ["/dry_run", { since, dry_run: "true" }],
      ["/type", { since, type: "lead" }],
      ["/type", { since, type: null }],
      ["/channel_id", { since, channel_id: "ch_1" }],
      ["/channel_id", { since, channel_id: [newId("ch")] }],
      ["/message_id", { since, message_id: newId("ch") }],
      ["/ad_account_id", { since, ad_account_id: newId("ch") }],
    ];
    for (const [path, json] of bad) {
      const { status, body } = await retryAll(json);
      t.equal(status, 400, JSON.stringify(json));
      t.match(body, { error: "validation_failed", details: [{ path }] }, JSON.stringify(json));
    }
    t.match(await readDelivery(api, id), { state: "failed" });
    t.equal((await retryAll({ since: "0000-01-01T00:00:00Z", dry_run: true })).body.queued, 1);
    t.equal((await retryAll({ since: "9999-12-31T23:59:59-23:59" })).body.queued, 0);
  });
});
