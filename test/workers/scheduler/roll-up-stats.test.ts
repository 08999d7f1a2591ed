import { randomBytes } from "node:crypto";
import type { Test } from "tap";
import t from "tap";
import { eraseDeletedClients } from "../../../src/domain/tenants/delete-client.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../../src/runtime/durations.ts";
import { firstIdAt } from "../../../src/runtime/ids.ts";
import { MESSAGE_STATUSES } from "../../../src/schema/enumerations.ts";
import type { Database, Queryable } from "../../../src/store/database/database.ts";
import { replayDeliveries, retryEvent } from "../../../src/store/events/replays.ts";
import { beginSingleAttempt, finishSingleAttempt } from "../../../src/store/events/single-attempts.ts";
import { updateMessageStatuses } from "../../../src/store/messages/message-statuses.ts";
import { hourOf, STATS_SUBJECTS } from "../../../src/store/stats/hours.ts";
import { readProgress } from "../../../src/store/stats/read-stats.ts";
import { markClientDeleted } from "../../../src/store/tenants/client-erasure.ts";
import { rollUpStats } from "../../../workers/scheduler/roll-up-stats.ts";
import { makeEventAt, updateDelivery } from "../../fixtures/events/events.ts";
import { insertClientWithLastByte, openQueueContext } from "../../fixtures/events/queue-rows.ts";
import { insertMessage } from "../../fixtures/messages/message-rows.ts";
import { updateRow } from "../../fixtures/messages/messages.ts";
import { applyRetention } from "../../fixtures/processes/retention.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { compareFigures, resetProgress, rollUp } from "../../fixtures/stats/figures.ts";

const HOURS_AGO = 30;

/** A client, and functions that insert its messages and events of a past time. */
async function open(t: Test) {
  const context = await openQueueContext(t);
  const client = { id: context.clientId };
  const past = Date.now() - HOURS_AGO * HOUR;
  const makeMessage = (columns: object = {}, time = past) => {
    const id = firstIdAt("msg", time) + randomBytes(8).toString("hex");
    return insertMessage(context, client, { id, ...columns });
  };
  const makeEvent = async (state: string, event: object = {}, time = past) => {
    const id = await makeEventAt(context, client, time, event);
    await updateDelivery(context, id, { state });
    return id;
  };
  const countLateChanges = async () => (await context.db.query("select 1 from late_changes")).length;
  const expectSame = async (message: string) => {
    const { stored, counted } = await compareFigures(context);
    t.same(stored, counted, message);
  };
  await resetProgress(context, HOURS_AGO + 1);
  return { ...context, client, makeMessage, makeEvent, countLateChanges, expectSame };
}

t.test("each message and event counts once, in the hour of its acceptance", async (t) => {
  const context = await open(t);
  const { db, makeMessage, makeEvent } = context;
  const other = await insertClientWithLastByte(db, 9);
  const statuses = MESSAGE_STATUSES.filter((status) => status !== "sending"); // is not stored
  for (const status of statuses)
    for (const time of [Date.now(), Date.now() - HOUR, Date.now() - HOURS_AGO * HOUR])
      await makeMessage({ status, channel_id: time % 2 ? "ch_1" : "ch_2" }, time);
  for (const state of ["skipped", "pending", "retrying", "delivered", "failed", "cancelled"])
    for (const key of ["chatapp", "marketing", null]) await makeEvent(state, { key });
  await insertMessage(context, { id: other }, { status: "sent" });
  const counts = await rollUp(context);
  const { stored, counted } = await compareFigures(context);
  t.same(stored, counted);
  t.equal(Object.keys(stored.events).length, 3);
  t.same(counts, {
    message_stats_changed: Object.keys(stored.messages).length,
    event_stats_changed: 3,
  });
  t.same(await rollUp(context), { message_stats_changed: 0, event_stats_changed: 0 });
});

t.test("a past hour is computed again when its unsettled rows change", async (t) => {
  const context = await open(t);
  const [sent, unknown] = [
    await context.makeMessage({}),
    await context.makeMessage({ status: "unknown", channel_id: "ch_2" }),
  ];
  const event = await context.makeEvent("retrying");
  await rollUp(context);
  await updateRow(context, "messages", { id: sent, status: "unknown" });
  await updateRow(context, "messages", { id: unknown, status: "failed" });
  await updateDelivery(context, event, { state: "failed" });
  t.same(await rollUp(context), { message_stats_changed: 2, event_stats_changed: 1 });
  await context.expectSame("an unknown message counts as unknown, a failed one as failed");
  await updateRow(context, "messages", { id: sent, status: "failed" });
  await rollUp(context);
  await context.expectSame("the last unsettled message is settled");
});

t.test("a past hour is computed again when a scheduled message is queued, sent or cancelled", async (t) => {
  const context = await open(t);
  const [started, cancelled] = [
    await context.makeMessage({ status: "scheduled" }),
    await context.makeMessage({ status: "scheduled" }),
  ];
  await rollUp(context);
  await context.expectSame("scheduled messages wait");
  await updateRow(context, "messages", { id: started, status: "queued" });
  t.match(await rollUp(context), { message_stats_changed: 0 }, "a queued message waits too");
  await updateRow(context, "messages", { id: cancelled, status: "cancelled" });
  t.match(await rollUp(context), { message_stats_changed: 1 });
  await context.expectSame("one is cancelled");
  await updateRow(context, "messages", { id: started, status: "sent" });
  t.match(await rollUp(context), { message_stats_changed: 1 });
  await context.expectSame("one is sent");
});

t.test("a settled row that changes late has its hour computed again", async (t) => {
  const context = await open(t);
  const { db, clientId } = context;
  const [failing, arriving] = [
    await context.makeMessage({ status: "sent" }),
    await context.makeMessage({ status: "failed", outcome_unknown: true }),
  ];
  const [retried, replayed, tested] = [
    await context.makeEvent("delivered"),
    await context.makeEvent("failed"),
    await context.makeEvent("skipped", { key: null }),
  ];
  await beginSingleAttempt(db, clientId, { id: tested, url: "https://a.example" });
  await rollUp(context);
  const update = { client_id: clientId, platform_message_id: null };
  await updateMessageStatuses(db, [
    { ...update, id: failing, failed: new Date().toISOString() },
    { ...update, id: arriving, delivered: new Date().toISOString() },
  ]);
  await retryEvent(db, clientId, retried);
  t.same(await replayDeliveries(db, clientId, { ids: [replayed], status: "failed" }), [replayed]);
  const attempt = { delivered: true, statusCode: 200, durationMs: 5, error: null, excerpt: null };
  await finishSingleAttempt(db, clientId, { id: tested, ...attempt });
  t.equal(await context.countLateChanges(), 5);
  await rollUp(context);
  await context.expectSame("all five are counted by their new outcome");
  t.equal(await context.countLateChanges(), 0);
  for (const id of [retried, replayed]) await updateDelivery(context, id, { state: "delivered" });
  await rollUp(context);
  await context.expectSame("a replayed event is followed until it is delivered again");
});

t.test("status webhooks of recent messages write nothing for the statistics", async (t) => {
  const context = await open(t);
  const id = await context.makeMessage({ status: "sent" }, Date.now() - MINUTE);
  await rollUp(context);
  const update = { client_id: context.clientId, platform_message_id: null };
  await updateMessageStatuses(context.db, [{ ...update, id, failed: new Date().toISOString() }]);
  t.equal(await context.countLateChanges(), 0);
  await rollUp(context);
  await context.expectSame("its hour is computed again anyway");
});

t.test("figures stay when retention deletes some or all of their rows", async (t) => {
  const context = await open(t);
  const { db } = context;
  const ids = [await context.makeMessage(), await context.makeMessage({ status: "sent" })];
  const events = [await context.makeEvent("retrying"), await context.makeEvent("delivered")];
  await rollUp(context);
  const { stored } = await compareFigures(context);
  for (const count of [1, 2]) {
    await db.query("delete from messages where id = any($1)", [ids.slice(0, count)]);
    await db.query("delete from deliveries where id = any($1)", [events.slice(0, count)]);
    await db.query("insert into late_changes (client_id, id) select $1, unnest($2::text[])", [
      context.clientId,
      [...ids, ...events],
    ]);
    await rollUp(context);
    t.same((await compareFigures(context)).stored, stored);
  }
});

t.test(
  "a replay of many hours is computed in small statements, and another client's figures with it",
  async (t) => {
    const context = await open(t);
    const { db } = context;
    const other = await insertClientWithLastByte(db, 9);
    const event = await makeEventAt(context, { id: other }, Date.now() - HOURS_AGO * HOUR);
    await updateDelivery(context, event, { state: "failed" });
    await rollUp(context);
    await updateDelivery(context, event, { state: "delivered" });
    const lateAt = (hours: number) => `${firstIdAt("evt", Date.now() - hours * HOUR)}x`;
    const late = Array.from({ length: 120 }, (_, index) => lateAt(HOURS_AGO + index));
    await db.query("insert into late_changes (client_id, id) select $1, unnest($2::text[])", [
      context.clientId,
      [...late, ...late],
    ]);
    await db.query("insert into late_changes (client_id, id) values ($1, $2)", [other, event]);
    const hours: number[] = [];
    const limits: (number | undefined)[] = [];
    const watched: Database = {
      ...db,
      transaction: (work, limit) => {
        limits.push(limit?.statementMs);
        return db.transaction((tx) => {
          const query: Queryable["query"] = (statement, values = []) => {
            const text = typeof statement === "string" ? statement : statement.text;
            if (text.includes("insert into event_stats")) hours.push((values[0] as unknown[]).length);
            return tx.query(statement, values);
          };
          return work({ query });
        }, limit);
      },
    };
    await rollUp({ ...context, db: watched });
    t.ok(hours.length >= 3, `${hours.length} statements`);
    t.ok(Math.max(...hours) <= 50, `at most ${Math.max(...hours)} hours in a statement`);
    for (const limit of limits)
      t.ok(limit && limit < 30 * SECOND, "Postgres ends it while the process waits");
    t.equal(await context.countLateChanges(), 0);
    await context.expectSame("the figures of the other client are right");
  },
);

const UNCOMPUTABLE = {
  "a replayed": { time: () => Date.now() - HOURS_AGO * HOUR, state: "failed" },
  "an open": { time: () => Date.now() - HOURS_AGO * HOUR, state: "retrying" },
  "a recent": { time: () => Date.now(), state: "retrying" },
};

for (const [name, { time, state }] of Object.entries(UNCOMPUTABLE))
  t.test(`${name} hour that cannot be computed keeps no other hour from being computed`, async (t) => {
    const context = await open(t);
    const { db, config, clientId } = context;
    const other = await insertClientWithLastByte(db, 9);
    const [blocked, earlier] = [time(), time() - HOUR];
    const events = [
      { id: clientId, time: blocked },
      { id: clientId, time: earlier },
      { id: other, time: blocked },
      { id: other, time: earlier },
    ];
    for (const event of events) {
      const id = await makeEventAt(context, event, event.time);
      await updateDelivery(context, id, { state });
    }
    await rollUp(context);
    await db.query("update deliveries set state = 'delivered'");
    if (state === "failed")
      await db.query("insert into late_changes (client_id, id) select client_id, id from deliveries");
    const holder = await connectRawClient(t, config.DATABASE_URL);
    await holder.query("begin");
    const start = new Date(hourOf(blocked));
    await holder.query("select 1 from event_stats where client_id = $1 and start = $2 for update", [
      clientId,
      start,
    ]);
    const hasty: Database = { ...db, transaction: (work) => db.transaction(work, { statementMs: 200 }) };
    await resetProgress(context, 0);
    const resetAt = (await readProgress(db, STATS_SUBJECTS.events)).getTime();
    for (const run of ["first", "second"]) {
      await t.rejects(rollUp({ config, db: hasty }), { code: "57014" }, `the ${run} run says it`);
      const stale = await db.query("select client_id, start from event_stats where delivered = 0");
      t.same(stale, [{ client_id: clientId, start }], "the other hours are computed");
      t.equal(await context.countLateChanges(), 1);
      const progress = await readProgress(db, STATS_SUBJECTS.events);
      t.ok(progress.getTime() > resetAt, "the next run does not compute all hours since an earlier one");
    }
    await holder.query("rollback");
    await rollUp(context);
    await context.expectSame("the hour is computed as soon as it can be");
    t.equal(await context.countLateChanges(), 0);
  });

t.test("late hours that are left when the time of a run is over are computed by the next one", async (t) => {
  const context = await open(t);
  const { db, config } = context;
  const [late, recent] = [
    await context.makeEvent("failed"),
    await context.makeEvent("retrying", {}, Date.now()),
  ];
  await rollUp(context);
  await retryEvent(db, context.clientId, late);
  await updateDelivery(context, recent, { state: "delivered" });
  const run = { signal: new AbortController().signal };
  t.match(await rollUpStats({ db, settings: config, maxLateMs: 0 }, run), { event_stats_changed: 1 });
  t.equal(await context.countLateChanges(), 1);
  t.match(await rollUp(context), { event_stats_changed: 1 });
  await context.expectSame("both are computed");
});

t.test("a run catches up after schedulers were stopped, and an interrupted one loses nothing", async (t) => {
  const context = await open(t);
  for (const hours of [28, 10, 3, 0]) await context.makeMessage({}, Date.now() - hours * HOUR);
  const late = await context.makeEvent("failed");
  await replayDeliveries(context.db, context.clientId, { ids: [late], status: "failed" });
  const stopping = new AbortController();
  stopping.abort();
  await t.rejects(rollUp(context, stopping.signal));
  t.equal(await context.countLateChanges(), 1);
  t.same((await compareFigures(context)).stored.messages, {});
  const before = Date.now();
  await rollUp(context);
  await context.expectSame("all hours since the last run");
  const progress = await context.db.query<{ rolled_up_to: Date }>("select rolled_up_to from stats_progress");
  for (const { rolled_up_to } of progress) t.ok(Math.abs(rolled_up_to.getTime() - before) < MINUTE);
});

t.test("concurrent runs and concurrent changes leave the right figures", async (t) => {
  const context = await open(t);
  const ids = await Promise.all(Array.from({ length: 40 }, () => context.makeMessage()));
  const events = await Promise.all(Array.from({ length: 40 }, () => context.makeEvent("failed")));
  await rollUp(context);
  const changes = ids.map(async (id, index) => {
    await updateRow(context, "messages", { id, status: index % 2 ? "sent" : "failed" });
    await retryEvent(context.db, context.clientId, events[index] as string);
    await updateDelivery(context, events[index] as string, { state: "delivered" });
  });
  await Promise.all([...changes, ...Array.from({ length: 6 }, () => rollUp(context))]);
  await rollUp(context);
  await context.expectSame("no older snapshot has replaced a newer one");
});

t.test("a deleted client whose rows are not erased yet has no figures", async (t) => {
  const context = await open(t);
  const other = await insertClientWithLastByte(context.db, 9);
  await context.makeMessage();
  await insertMessage(context, { id: other });
  await markClientDeleted(context.db, other);
  await rollUp(context);
  t.equal(Object.keys((await compareFigures(context)).stored.messages).length, 1);
  t.equal(await eraseDeletedClients(context.db), 1);
  await rollUp(context);
  await context.expectSame("the deleted client has no figures");
});

t.test("maintenance deletes figures after 95 days", async (t) => {
  const context = await open(t);
  const { db, clientId } = context;
  for (const days of [94, 96])
    await db.query(
      "insert into message_stats values ($1, now() - $2 * interval '1 day', 'ch_1', 1, 1, 0, 0, 0)",
      [clientId, days],
    );
  const settings = { EVENT_RETENTION_DAYS: 30, MESSAGE_RETENTION_DAYS: 30 };
  t.match(await applyRetention(settings, db), { message_stats_deleted: 1, event_stats_deleted: 0 });
  const [row] = await db.query<{ start: Date }>("select start from message_stats");
  t.ok(Date.now() - (row?.start.getTime() ?? 0) < 95 * DAY);
});
