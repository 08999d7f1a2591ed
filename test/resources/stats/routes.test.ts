import { Redis } from "ioredis";
import t from "tap";
import { createBreakers, openDuration } from "../../../src/queue/breakers.ts";
import { tagsOf } from "../../../src/queue/wake-ups.ts";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { DAY, HOUR } from "../../../src/runtime/durations.ts";
import { firstIdAt, newId, timeOfId } from "../../../src/runtime/ids.ts";
import { holdQueue, releaseQueue } from "../../../src/store/processes/queue-hold.ts";
import { configureWebhook, makeEvents, updateDelivery } from "../../fixtures/events/events.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { sendBatch } from "../../fixtures/messages/batches.ts";
import { insertMessage } from "../../fixtures/messages/message-rows.ts";
import { updateRow } from "../../fixtures/messages/messages.ts";
import { createCommandRunner } from "../../fixtures/processes/command-line.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { resetProgress, rollUp } from "../../fixtures/stats/figures.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "../../fixtures/tenants/tenants.ts";

const NO_MESSAGES = { accepted: 0, sent: 0, failed: 0, unknown: 0, cancelled: 0, waiting: 0 };
const NO_EVENTS = { accepted: 0, delivered: 0, failed: 0, skipped: 0, waiting: 0 };
const KEYS = ["chatapp", "photoapp", "socialapp", "marketing", "publishing", "embedded_signup"];

const isoHour = (time: number) => new Date(Math.floor(time / HOUR) * HOUR).toISOString();
const isoDay = (time: number) => new Date(Math.floor(time / DAY) * DAY).toISOString();

/** Reads statistics as the client. */
async function createReader(api: Api, tenant: Tenant) {
  const { headers } = await tenant.createKey("messages:send", "webhooks:manage");
  return (path: string) => api.call("GET", `/api/stats/${path}`, { headers });
}

t.test("statistics", async (t) => {
  const settings = await testSettings(t);
  const api = await startApi(t, { config: readConfig(settings) });
  const [tenant, other] = [await makeTenant(api), await makeTenant(api)];
  const read = await createReader(api, tenant);
  const [channel, second] = [newId("ch"), newId("ch")].sort() as [string, string];
  const now = Date.now();
  const yesterday = now - 1 * DAY;
  // The hour may change while the test runs.
  const [since, until] = [isoHour(yesterday), isoHour(now + HOUR)];
  const PERIOD = `since=${since}&until=${until}`;
  const makeMessage = (client: Tenant, time: number, columns: object) =>
    insertMessage(api, client, { id: firstIdAt("msg", time) + newId("msg").slice(14), ...columns });
  await makeMessage(tenant, now, { channel_id: channel, status: "read" });
  await makeMessage(tenant, now, { channel_id: second, status: "failed" });
  await makeMessage(tenant, yesterday, { channel_id: channel, status: "queued" });
  await makeMessage(other, now, { channel_id: newId("ch"), status: "unknown" });
  const [delivered, failed] = (await makeEvents(api, tenant, {}, { key: "marketing" })) as [string, string];
  await updateDelivery(api, delivered, { state: "delivered" });
  await updateDelivery(api, failed, { state: "failed" });
  await resetProgress(api, 26);
  await rollUp(api);

  t.test("messages are counted by hour and channel, oldest first", async (t) => {
    const { status, body } = await read(`messages?${PERIOD}`);
    t.equal(status, 200);
    const { updated_at, ...figures } = body;
    t.ok(Date.parse(updated_at) <= Date.now() && Date.parse(updated_at) > now - HOUR);
    t.same(figures, {
      since: isoHour(yesterday),
      until: isoHour(now + HOUR),
      interval: "hour",
      totals: { ...NO_MESSAGES, accepted: 3, sent: 1, failed: 1, waiting: 1 },
      data: [
        { start: isoHour(yesterday), channel_id: channel, ...NO_MESSAGES, accepted: 1, waiting: 1 },
        { start: isoHour(now), channel_id: channel, ...NO_MESSAGES, accepted: 1, sent: 1 },
        { start: isoHour(now), channel_id: second, ...NO_MESSAGES, accepted: 1, failed: 1 },
      ],
    });
  });

  t.test("the period ends with the current hour and begins 24 hours before", async (t) => {
    const hourBefore = isoHour(Date.now());
    const { since, until } = (await read("messages")).body;
    t.equal(Date.parse(until) - Date.parse(since), DAY + HOUR);
    const lastHour = isoHour(Date.parse(until) - HOUR);
    t.ok([hourBefore, isoHour(Date.now())].includes(lastHour), "the hour may have changed meanwhile");
  });

  t.test("messages are counted by day, and of one channel", async (t) => {
    const since = new Date(now - 91 * DAY).toISOString();
    const { body } = await read(`messages?since=${since}&interval=day&channel_id=${channel}`);
    t.same(
      body.data.map(({ start, accepted }: { start: string; accepted: number }) => [start, accepted]),
      [
        [isoDay(yesterday), 1],
        [isoDay(now), 1],
      ],
    );
    t.equal(body.totals.accepted, 2);
  });

  t.test("the messages of a batch are counted as they are now", async (t) => {
    const batchChannel = await makeChannel(api, tenant);
    const { headers } = await tenant.createKey("messages:send");
    const send_at = new Date(Date.now() + HOUR).toISOString();
    const batchId = await sendBatch(api, headers, { channelId: batchChannel, count: 4, send_at });
    const list = await api.call("GET", `/api/outbound/messages?batch_id=${batchId}`, { headers });
    const ids: string[] = list.body.data.map(({ message_id }: { message_id: string }) => message_id);
    await api.call("DELETE", `/api/outbound/messages/${ids[0]}`, { headers });
    await updateRow(api, "messages", { id: ids[1] as string, status: "failed" });
    await updateRow(api, "messages", { id: ids[2] as string, status: "delivered" });
    const totals = { ...NO_MESSAGES, accepted: 4, sent: 1, failed: 1, cancelled: 1, waiting: 1 };
    const start = isoHour(timeOfId(ids[0] as string));
    const asked = Date.now();
    const { status, body } = await read(`messages?batch_id=${batchId}`);
    t.equal(status, 200);
    t.match(body, { interval: "hour", totals, data: [{ start, channel_id: batchChannel, ...totals }] });
    t.ok(Math.abs(Date.parse(body.updated_at) - asked) < HOUR, "not the time of the last roll-up");
    const ofDay = await read(`messages?batch_id=${batchId}&interval=day&channel_id=${batchChannel}`);
    t.match(ofDay.body.data, [{ start: isoDay(timeOfId(ids[0] as string)), ...totals }]);
    for (const filter of [
      `channel_id=${channel}`,
      `since=${isoHour(yesterday)}&until=${isoHour(yesterday)}`,
    ]) {
      const filtered = await read(`messages?batch_id=${batchId}&${filter}`);
      t.same([filtered.status, filtered.body.totals, filtered.body.data], [200, NO_MESSAGES, []], filter);
    }
    const readOther = await createReader(api, other);
    for (const reply of [
      await readOther(`messages?batch_id=${batchId}`),
      await read(`messages?batch_id=${newId("bat")}`),
    ])
      t.match(reply, { status: 404, body: { error: "not_found" } });
  });

  t.test("events are counted by key", async (t) => {
    const { body } = await read(`events?${PERIOD}`);
    const row = { start: isoHour(timeOfId(delivered)), ...NO_EVENTS, accepted: 1 };
    t.same(body.data, [
      { ...row, key: "chatapp", delivered: 1 },
      { ...row, key: "marketing", failed: 1 },
    ]);
    t.same(body.totals, { ...NO_EVENTS, accepted: 2, delivered: 1, failed: 1 });
    t.same((await read(`events?${PERIOD}&key=marketing`)).body.data, [
      { ...row, key: "marketing", failed: 1 },
    ]);
  });

  t.test("a channel of another client and an unknown one look the same", async (t) => {
    const readOther = await createReader(api, other);
    for (const id of [channel, newId("ch")]) {
      const { status, body } = await readOther(`messages?channel_id=${id}`);
      t.equal(status, 200);
      t.same([body.totals, body.data], [NO_MESSAGES, []]);
    }
    t.same((await readOther("events")).body.data, []);
    t.equal((await readOther("queue")).body.data.length, KEYS.length);
  });

  t.test("wrong parameters are refused", async (t) => {
    const wrong = [
      "interval=minute",
      "since=yesterday",
      "since=2026-11-02T00:00:00Z&until=2026-11-01T00:00:00Z",
      "since=2026-01-01T00:00:00Z&until=2026-04-03T00:00:00.001Z",
      "since=2026-12-31T23:59:60Z",
      "limit=5",
    ];
    for (const path of ["messages", "events"])
      for (const query of wrong) {
        const { status, body } = await read(`${path}?${query}`);
        t.equal(status, 400, query);
        t.equal(body.error, "validation_failed");
      }
    for (const path of [
      "messages?channel_id=1",
      "messages?batch_id=1",
      `messages?batch_id=${channel}`,
      `events?batch_id=${newId("bat")}`,
      "messages?key=chatapp",
      "events?key=fax",
      "queue?key=chatapp",
    ])
      t.equal((await read(path)).status, 400, path);
  });

  t.test("a reply of too many rows is refused", async (t) => {
    const large = await makeTenant(api);
    await api.db.query(
      `insert into message_stats
      select $1, date_trunc('hour', now()), 'ch_' || i, 1, 1, 0, 0, 0
      from generate_series(1, 25001) i`,
      [large.id],
    );
    const { status, body } = await (await createReader(api, large))("messages");
    t.equal(status, 400);
    t.match(body, { error: "validation_failed", details: [{ path: "/interval" }] });
  });

  t.test("the queue shows the waiting events of each key and the circuit breaker", async (t) => {
    const waiting = await makeTenant(api);
    const readQueue = await createReader(api, waiting);
    const closed = { breaker: "closed", origin: null, next_probe_at: null };
    const idle = KEYS.map((key) => ({ key, waiting: 0, oldest_waiting_at: null, ...closed }));
    const nothing = { held: false, oldest_message_at: null, data: idle };
    t.same((await readQueue("queue")).body, nothing);
    await configureWebhook(api, waiting, { url: "https://backend.example:8443/hooks" });
    t.same((await readQueue("queue")).body, nothing);
    const [first, retried, unkeyed] = (await makeEvents(api, waiting, {}, {}, { key: null })) as string[];
    await updateDelivery(api, retried as string, { state: "retrying" });
    const [done] = (await makeEvents(api, waiting, { key: "marketing" })) as [string];
    await updateDelivery(api, done, { state: "delivered" });
    const redis = new Redis(settings.REDIS_URL as string);
    t.teardown(() => redis.disconnect());
    const breakers = createBreakers(redis, tagsOf(api.config));
    const destination = { clientId: waiting.id, origin: "https://backend.example:8443" };
    // Five failures open the breaker, and five failed probes keep it open for minutes.
    const openedFrom = Date.now();
    for (let call = 0; call < 10; call++)
      await breakers.recordResult(destination, { isFailure: true, isProbe: call >= 5 });
    const openedUntil = Date.now();
    const { data } = (await readQueue("queue")).body;
    const at = (id: string | undefined) => new Date(timeOfId(id as string)).toISOString();
    const { next_probe_at } = data[0];
    const openedAt = Date.parse(next_probe_at) - openDuration(5);
    t.ok(openedAt >= openedFrom && openedAt <= openedUntil, next_probe_at);
    const open = { breaker: "open", origin: destination.origin, next_probe_at };
    t.same(data[0], { key: "chatapp", waiting: 2, oldest_waiting_at: at(first), ...open });
    t.same(data[3], { key: "marketing", waiting: 0, oldest_waiting_at: null, ...open });
    t.same(data[6], { key: null, waiting: 1, oldest_waiting_at: at(unkeyed), ...open });
    const halfOpened = createBreakers(redis, tagsOf(api.config), { now: () => Date.now() - HOUR });
    for (let call = 0; call < 5; call++)
      await halfOpened.recordResult(destination, { isFailure: true, isProbe: false });
    const halfOpen = { breaker: "half_open", origin: destination.origin, next_probe_at: null };
    t.match((await readQueue("queue")).body.data[0], halfOpen);
    await configureWebhook(api, waiting, { url: "https://other.example/hooks" });
    t.match((await readQueue("queue")).body.data[0], closed, "another backend");
    await holdQueue(api.db, { by: "an operator" });
    t.equal((await readQueue("queue")).body.held, true);
    await releaseQueue(api.db);
  });

  t.test(
    "the queue shows since when the oldest message waits, to callers who may see messages",
    async (t) => {
      const [own, other] = [await makeTenant(api), await makeTenant(api)];
      const readQueue = await createReader(api, own);
      const columns = { channel_id: channel, status: "queued" };
      await insertMessage(api, own, { ...columns, status: "scheduled" });
      await insertMessage(api, own, { ...columns, status: "read" });
      await insertMessage(api, other, columns);
      t.equal((await readQueue("queue")).body.oldest_message_at, null);
      const oldest = await insertMessage(api, own, columns);
      await insertMessage(api, own, columns);
      const at = new Date(timeOfId(oldest)).toISOString();
      t.equal((await readQueue("queue")).body.oldest_message_at, at);
      const { headers } = await own.createKey("webhooks:manage");
      t.equal((await api.call("GET", "/api/stats/queue", { headers })).body.oldest_message_at, null);
    },
  );

  t.test("herald stats prints the same figures", async (t) => {
    const herald = createCommandRunner(t, settings);
    const { code, json } = await herald(
      `stats --client ${tenant.id} --since ${since} --until ${until} --json`,
    );
    t.equal(code, 0);
    const [messages, events] = [await read(`messages?${PERIOD}`), await read(`events?${PERIOD}`)];
    t.same(json, { messages: messages.body, events: events.body });
    const { out } = await herald(`stats --client ${tenant.id} --interval day`);
    t.match(out, /^messages from .*\nstart +channel_id +accepted +sent +failed +unknown +cancelled +waiting/);
    t.match(out, /total +accepted +delivered/);
    t.equal((await herald(`stats --client ${tenant.id} --since 2020-01-01T00:00:00Z`)).code, 2);
    t.equal((await herald(`stats --client ${tenant.id} --interval week`)).code, 2);
    const stranger = "6f1d3c2a-8a54-4f0e-9d0b-3a1f5c7e9b21";
    t.equal((await herald(`stats --client ${stranger}`)).code, 1);
  });
});
