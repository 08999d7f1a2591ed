import { randomUUID } from "node:crypto";
import t from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Queryable } from "../../../src/store/database/database.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import { enqueueDue, recoverDeliveries, unmarkQueued } from "../../../src/store/events/sweep-deliveries.ts";
import { lockSweep } from "../../../src/store/processes/sweep-lock.ts";
import { readAttempts, readDelivery, updateDelivery } from "../../fixtures/events/events.ts";
import {
  insertClientWithLastByte,
  insertDeadWorker,
  insertDueDeliveries,
  openQueueContext,
  type QueueContext,
  secondsFromNow,
  withoutRetries,
} from "../../fixtures/events/queue-rows.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";

/** A hundred times those of the product, so that no row comes near a limit while a test runs. */
const LEASE_LIMITS = { deadAfter: 1_000 * SECOND, maxLeaseMs: 6_000 * SECOND };
const ENQUEUE_INPUT = {
  isBulk: false,
  epoch: "now",
  strandedAfter: 2_000 * SECOND,
  limit: 500,
  partitions: 1,
  fullPartitions: [],
  saturatedClients: [],
};

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

const inFlight = (worker: string, seconds: number) => ({
  state: "in_flight",
  worker_id: worker,
  lease: randomUUID(),
  claimed_at: secondsFromNow(-seconds),
  enqueued_at: secondsFromNow(-seconds),
  queue_epoch: "now",
});

const insertWorker = ({ db }: QueueContext, id: string, seconds: number) =>
  db.query("insert into workers (id, process, heartbeat_at) values ($1, 'dispatcher', $2)", [
    id,
    secondsFromNow(-seconds),
  ]);

t.test(
  "deliveries of dead dispatchers are due again with the same attempts, and no others are touched",
  async (t) => {
    const context = await openQueueContext(t);
    await insertWorker(context, "wrk_alive", 700);
    await insertWorker(context, "wrk_silent", 1_300);
    const cases: [string, number | undefined, Record<string, unknown>][] = [
      ["worker alive", undefined, inFlight("wrk_alive", 4_000)],
      ["worker without a heartbeat", 1, inFlight("wrk_silent", 1_500)],
      ["worker stopped in order, which lost the answer to its claim", 0, inFlight("wrk_stopped", 1_500)],
      ["worker alive, which lost the answer to its claim", 0, inFlight("wrk_alive", 7_000)],
      ["worker without a heartbeat, claimed recently", undefined, inFlight("wrk_silent", 200)],
      ["not claimed", undefined, { state: "retrying" }],
    ];
    const refs: DeliveryRef[] = [];
    for (const [, , columns] of cases)
      refs.push(...(await insertDueDeliveries(context, 1, { attempts: 2, ...columns })));
    const before = await Promise.all(refs.map(({ id }) => readDelivery(context, id)));
    t.same(await recoverDeliveries(context.db, LEASE_LIMITS), { released: 3, quarantined: [] });
    for (const [index, ref] of refs.entries()) {
      const [name, deaths] = cases[index] as (typeof cases)[number];
      const row = await readDelivery(context, ref.id);
      t.same(await readAttempts(context, ref.id), [], "no attempt is recorded");
      if (deaths === undefined) {
        t.same(row, before[index], name);
        continue;
      }
      const unleased = { enqueued_at: null, worker_id: null, lease: null, claimed_at: null };
      const kept = { attempts: 2, schedule_base: 0 };
      t.match(row, { state: "retrying", deaths, last_error: "interrupted", ...kept, ...unleased }, name);
      t.ok((row.next_attempt_at as Date).getTime() <= secondsFromNow(1).getTime());
    }
  },
);

t.test(
  "a delivery is due immediately after each of four deaths and is quarantined at the fifth",
  async (t) => {
    const context = await openQueueContext(t);
    await insertDeadWorker(context, "wrk_gone");
    const lost = { ...inFlight("wrk_gone", 3_000), last_status_code: 503 };
    const [ref] = (await insertDueDeliveries(context, 1)) as [DeliveryRef];
    for (const deaths of [1, 2, 3, 4]) {
      await updateDelivery(context, ref.id, lost);
      t.same(await recoverDeliveries(context.db, LEASE_LIMITS), { released: 1, quarantined: [] });
      const row = await readDelivery(context, ref.id);
      t.match(row, {
        state: "pending",
        attempts: 0,
        deaths,
        last_error: "interrupted",
        last_status_code: null,
      });
      t.ok(
        (row.next_attempt_at as Date).getTime() <= secondsFromNow(1).getTime(),
        `due after death ${deaths}`,
      );
    }
    await updateDelivery(context, ref.id, lost);
    const quarantined = [{ ...ref, deaths: 5 }];
    t.same(await recoverDeliveries(context.db, LEASE_LIMITS), { released: 0, quarantined });
    const failed = {
      state: "failed",
      attempts: 0,
      deaths: 5,
      last_error: "quarantined",
      failed_at: Date,
      next_attempt_at: null,
    };
    t.match(await readDelivery(context, ref.id), { ...failed, worker_id: null, lease: null });
    t.same(await readAttempts(context, ref.id), []);
    t.same(
      await recoverDeliveries(context.db, LEASE_LIMITS),
      { released: 0, quarantined: [] },
      "reported once",
    );
  },
);

t.test("saturated clients are skipped", async (t) => {
  const context = await openQueueContext(t);
  const [saturated] = (await insertDueDeliveries(context, 1)) as [DeliveryRef];
  const otherClient = { ...context, clientId: await insertClientWithLastByte(context.db, 0x01) };
  const [other] = (await insertDueDeliveries(otherClient, 1)) as [DeliveryRef];
  t.same(await enqueueDue(context.db, { ...ENQUEUE_INPUT, saturatedClients: [saturated.clientId] }), [other]);
  t.same(await enqueueDue(context.db, ENQUEUE_INPUT), [saturated]);
});

t.test("a locked delivery does not block the recovery of others", async (t) => {
  const context = await openQueueContext(t);
  await insertDeadWorker(context, "wrk_gone");
  const refs = await insertDueDeliveries(context, 2, inFlight("wrk_gone", 3_000));
  const [held, other] = refs as [DeliveryRef, DeliveryRef];
  const raw = await connectRawClient(t, context.config.DATABASE_URL);
  await raw.query("begin");
  await raw.query("select 1 from deliveries where id = $1 for update", [held.id]);
  t.match(await recoverDeliveries(context.db, LEASE_LIMITS), { released: 1 });
  await raw.query("commit");
  t.match(await readDelivery(context, other.id), { state: "pending", deaths: 1 });
  t.match(await readDelivery(context, held.id), { state: "in_flight", deaths: 0 });
});

const lockDeliveries = async (tx: Queryable) => (await lockSweep(tx, "deliveries")).isLocked;

t.test("one process holds the sweep lock until its transaction ends", async (t) => {
  const { db, config } = await openQueueContext(t);
  const raw = await connectRawClient(t, config.DATABASE_URL);
  await raw.query("begin");
  t.equal(await lockDeliveries(withoutRetries(raw)), true);
  t.equal(await db.transaction(lockDeliveries), false);
  await raw.query("rollback");
  t.equal(await db.transaction(lockDeliveries), true);
  t.equal(await db.transaction(lockDeliveries), true);
});

const queued = (epoch: string, seconds: number) => ({
  enqueued_at: secondsFromNow(-seconds),
  queue_epoch: epoch,
});

t.test("due deliveries that are not in the queue are enqueued, whatever the reason", async (t) => {
  const context = await openQueueContext(t);
  const cases: [string, boolean, Record<string, unknown>][] = [
    ["never enqueued", true, {}],
    ["to be retried", true, { state: "retrying" }],
    ["enqueued in an earlier Redis epoch", true, queued("an earlier one", 1)],
    ["enqueued in an epoch that sorts later", true, queued("z", 1)],
    ["enqueued long ago", true, queued("now", 2_500)],
    ["enqueued just now", false, queued("now", 1_000)],
    ["one death", true, { deaths: 1 }],
    ["a suspect", false, { deaths: 2 }],
    ["a suspect enqueued long ago", false, { deaths: 2, ...queued("now", 2_500) }],
    ["a suspect enqueued in an earlier Redis epoch", false, { deaths: 2, ...queued("an earlier one", 1) }],
    ["not due yet", false, { next_attempt_at: secondsFromNow(60) }],
    ["bulk", false, { is_bulk: true }],
    ["in flight", false, inFlight("wrk_1", 3_000)],
    ["done", false, { state: "delivered", next_attempt_at: null }],
  ];
  const refs: DeliveryRef[] = [];
  for (const [, , columns] of cases) refs.push(...(await insertDueDeliveries(context, 1, columns)));
  const found = idsOf(await enqueueDue(context.db, ENQUEUE_INPUT));
  for (const [index, { id }] of refs.entries()) {
    const [name, isTaken] = cases[index] as (typeof cases)[number];
    t.equal(found.includes(id), isTaken, name);
    const row = await readDelivery(context, id);
    if (!isTaken) continue;
    t.equal(row.queue_epoch, "now");
    t.ok((row.enqueued_at as Date).getTime() > secondsFromNow(-60).getTime());
  }
  t.same(await enqueueDue(context.db, ENQUEUE_INPUT), [], "enqueued once");
  const bulk = await enqueueDue(context.db, { ...ENQUEUE_INPUT, isBulk: true });
  const bulkRef = refs[cases.findIndex(([name]) => name === "bulk")];
  t.same(idsOf(bulk), [bulkRef?.id], "the bulk lane is separate");
  t.same(bulk[0], bulkRef, "each ref has its client and its event");
});

t.test("the oldest are enqueued first, up to the limit, and the groups take turns", async (t) => {
  const context = await openQueueContext(t);
  const byAge = (await insertDueDeliveries(context, 6)).reverse();
  for (const [index, { id }] of byAge.entries())
    await updateDelivery(context, id, { next_attempt_at: secondsFromNow(index - 100) });
  const [stranded] = (await insertDueDeliveries(context, 1, {
    ...queued("now", 3_000),
    next_attempt_at: secondsFromNow(-500),
  })) as [DeliveryRef];
  const next = async (limit: number) =>
    idsOf(await enqueueDue(context.db, { ...ENQUEUE_INPUT, limit })).sort();
  t.same(await next(2), [byAge[0]?.id, stranded.id].sort());
  t.same(await next(3), idsOf(byAge.slice(1, 4)).sort());
  t.same(await next(3), idsOf(byAge.slice(4, 6)).sort());
  for (const [index, { id }] of byAge.entries())
    await updateDelivery(context, id, queued("now", 6_000 - index));
  t.same(await next(2), idsOf(byAge.slice(0, 2)).sort(), "also among those enqueued long ago");
  for (const [index, { id }] of byAge.entries())
    await updateDelivery(context, id, queued("lost", 6_000 - index));
  t.same(await next(2), idsOf(byAge.slice(0, 2)).sort(), "also among those enqueued in another Redis epoch");
});

t.test("full partitions are skipped", async (t) => {
  const context = await openQueueContext(t);
  const refs: DeliveryRef[] = [];
  for (const byte of [0x00, 0x09, 0xfa, 0x0b])
    refs.push(
      ...(await insertDueDeliveries(
        { ...context, clientId: await insertClientWithLastByte(context.db, byte) },
        1,
      )),
    );
  const next = async (fullPartitions: number[]) =>
    idsOf(await enqueueDue(context.db, { ...ENQUEUE_INPUT, partitions: 8, fullPartitions })).sort();
  t.same(await next([0, 1, 3]), [refs[2]?.id], "0xfa belongs to partition 2");
  t.same(await next([1]), [refs[0]?.id, refs[3]?.id].sort());
  t.same(await next([]), [refs[1]?.id]);
});

t.test("concurrent sweeps take different deliveries without waiting", async (t) => {
  const context = await openQueueContext(t);
  const refs = await insertDueDeliveries(context, 4);
  const raw = await connectRawClient(t, context.config.DATABASE_URL);
  await raw.query("begin");
  const one = await enqueueDue(withoutRetries(raw), { ...ENQUEUE_INPUT, limit: 3 });
  const other = await enqueueDue(context.db, ENQUEUE_INPUT);
  await raw.query("commit");
  t.same([one.length, other.length], [3, 1]);
  t.same(idsOf([...one, ...other]).sort(), idsOf(refs).sort());
});

t.test(
  "a waiting delivery removed from the queue is due immediately or after the delay; others are unchanged",
  async (t) => {
    const context = await openQueueContext(t);
    const refs = await insertDueDeliveries(context, 3, queued("now", 1));
    const [waiting, out, later] = refs as [DeliveryRef, DeliveryRef, DeliveryRef];
    await updateDelivery(context, out.id, inFlight("wrk_1", 1));
    await updateDelivery(context, later.id, { next_attempt_at: secondsFromNow(600) });
    const before = await Promise.all(refs.map(({ id }) => readDelivery(context, id)));
    await unmarkQueued(context.db, refs);
    t.same(await readDelivery(context, waiting.id), { ...before[0], enqueued_at: null });
    t.same(await readDelivery(context, out.id), before[1]);
    t.same(await readDelivery(context, later.id), before[2]);
    await unmarkQueued(context.db, refs, 300_000);
    const { next_attempt_at: at } = await readDelivery(context, waiting.id);
    t.ok(Math.abs((at as Date).getTime() - secondsFromNow(300).getTime()) < 60_000);
    t.same(await readDelivery(context, out.id), before[1]);
    t.same(await readDelivery(context, later.id), before[2]);
  },
);
