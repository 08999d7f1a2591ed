import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import { createParking } from "../../../../src/queue/parking.ts";
import type { RedisClient } from "../../../../src/queue/redis.ts";
import { createStreams, type Streams } from "../../../../src/queue/streams.ts";
import { MINUTE } from "../../../../src/runtime/durations.ts";
import { createMetrics } from "../../../../src/runtime/metrics/metrics.ts";
import type { DeliveryRef } from "../../../../src/store/events/delivery-refs.ts";
import { createQuarantineRecorder } from "../../../../workers/dispatcher/delivering/record.ts";
import {
  type DeliverySweepParts,
  sweepDeliveries,
} from "../../../../workers/dispatcher/delivering/sweeper.ts";
import { heartbeat } from "../../../../workers/heartbeat.ts";
import { captureLog } from "../../../fixtures/captured-log.ts";
import { readDelivery } from "../../../fixtures/events/events.ts";
import {
  insertDeadWorker,
  insertDueDeliveries,
  openQueueContext,
  secondsFromNow,
} from "../../../fixtures/events/queue-rows.ts";
import { connectRedis, openProducer } from "../../../fixtures/servers/redis.ts";
import { watchStatements, withRepeatedTransactions } from "../../../fixtures/servers/statements.ts";
import { until } from "../../../fixtures/until.ts";

async function open(t: Test, redis?: RedisClient) {
  const context = await openQueueContext(t);
  await insertDeadWorker(context, "wrk_gone");
  const client = redis ?? (await connectRedis(t));
  const [streams, parking] = [createStreams(client, 1), createParking(client, 1)];
  const { log, lines, events } = captureLog();
  const metrics = createMetrics("dispatcher");
  const parts: DeliverySweepParts = {
    db: context.db,
    streams,
    parking,
    log,
    aliveForMs: () => MINUTE,
    onQuarantined: createQuarantineRecorder(log, metrics),
  };
  return { context, streams, parts, lines, events, metrics };
}

const ORPHAN = {
  state: "in_flight",
  worker_id: "wrk_gone",
  lease: randomUUID(),
  claimed_at: secondsFromNow(-30),
};

t.test("a worker with a recent heartbeat gap does not reclaim rows of others", async (t) => {
  const { context, parts, events } = await open(t);
  const [ref] = (await insertDueDeliveries(context, 1, ORPHAN)) as [DeliveryRef];
  await sweepDeliveries({ ...parts, aliveForMs: () => 9_999 });
  t.match(await readDelivery(context, ref.id), { state: "in_flight", worker_id: "wrk_gone" });
  await sweepDeliveries({ ...parts, aliveForMs: () => 10_000 });
  t.match(await readDelivery(context, ref.id), { state: "pending", deaths: 1, enqueued_at: Date });
  t.same(events(), ["sweep.reclaimed"]);
});

t.test("a sweep whose transaction is repeated logs and counts a quarantined delivery once", async (t) => {
  const { context, parts, lines, metrics } = await open(t);
  const [ref] = (await insertDueDeliveries(context, 1, { ...ORPHAN, deaths: 4 })) as [DeliveryRef];
  await insertDueDeliveries(context, 2, ORPHAN);
  await sweepDeliveries({ ...parts, db: withRepeatedTransactions(context.db) });
  t.match(lines, [
    { level: "error", event: "delivery.quarantined", client: ref.clientId, event_id: ref.id, deaths: 5 },
    { level: "warn", event: "sweep.reclaimed", released: 2, quarantined: 1 },
  ]);
  t.equal(lines.length, 2);
  t.match(await metrics.text(), /herald_deliveries_total\{state="failed",process="dispatcher"\} 1/);
});

t.test("a sweep whose transaction is repeated logs what it reclaimed once", async (t) => {
  const { context, parts, events } = await open(t);
  await insertDueDeliveries(context, 1, ORPHAN);
  await sweepDeliveries({ ...parts, db: withRepeatedTransactions(context.db) });
  t.same(events(), ["sweep.reclaimed"]);
});

t.test("a heartbeat gap resets the time for which a worker has been alive", async (t) => {
  const { context } = await open(t);
  let isAway = false;
  const { database } = watchStatements(async () => {
    if (isAway) throw new Error("unavailable");
  });
  const clock = { now: 5_000 };
  const parts = { id: "wrk_1", db: database(context.db), log: captureLog().log, now: () => clock.now };
  const heartbeatWorker = heartbeat({ ...parts, process: "dispatcher" });
  t.equal(heartbeatWorker.aliveForMs(), 0);
  await heartbeatWorker.start?.({ fail: (error) => t.fail(String(error)) });
  t.teardown(() => heartbeatWorker.close?.());
  isAway = true;
  clock.now += 5_000;
  t.equal(heartbeatWorker.aliveForMs(), 5_000);
  clock.now += 1_000;
  t.equal(heartbeatWorker.aliveForMs(), 0, "0 during the gap");
  isAway = false;
  await until("the next heartbeat is recorded", async () => {
    clock.now += 1;
    return heartbeatWorker.aliveForMs() > 0;
  });
  t.ok(heartbeatWorker.aliveForMs() < 5_000, "the time before the gap does not count");
});

t.test("the sweep reclaims rows while Redis is unavailable, and marks none as queued", async (t) => {
  const { context, parts } = await open(t, openProducer(t));
  const [orphan] = (await insertDueDeliveries(context, 1, ORPHAN)) as [DeliveryRef];
  const [due] = (await insertDueDeliveries(context, 1)) as [DeliveryRef];
  await sweepDeliveries(parts);
  t.match(await readDelivery(context, orphan.id), { state: "pending", deaths: 1, enqueued_at: null });
  t.match(await readDelivery(context, due.id), { state: "pending", enqueued_at: null });
});

t.test("a sweep queues more than one batch, each lane to its own stream", async (t) => {
  const { context, parts, streams } = await open(t);
  await insertDueDeliveries(context, 501);
  await insertDueDeliveries(context, 2, { is_bulk: true });
  await sweepDeliveries(parts);
  t.equal(await streams.depth("{events:0}"), 501);
  t.equal(await streams.depth("{bulk:0}"), 2);
});

t.test("concurrent sweeps queue each delivery once", async (t) => {
  const { context, parts, streams } = await open(t);
  await insertDueDeliveries(context, 50);
  await Promise.all([sweepDeliveries(parts), sweepDeliveries(parts), sweepDeliveries(parts)]);
  t.equal(await streams.depth("{events:0}"), 50);
});

t.test("deliveries that Redis rejects are unmarked and not retried in the same sweep", async (t) => {
  const { context, parts, streams, events } = await open(t);
  await insertDueDeliveries(context, 501);
  await insertDueDeliveries(context, 1, { is_bulk: true });
  const tried: string[] = [];
  const add: Streams["add"] = async (lane, refs) => {
    tried.push(lane);
    if (lane === "events" && tried.length < 20) throw new Error("not now"); // the limit keeps a broken sweep from hanging
    await streams.add(lane, refs);
  };
  await sweepDeliveries({ ...parts, streams: { ...streams, add } });
  t.same(tried, ["events", "bulk"]);
  t.same(events(), ["sweep.enqueue_failed"]);
  const waiting = await context.db.query("select 1 from deliveries where enqueued_at is null");
  t.equal(waiting.length, 501);
});

t.test("the sweep adds nothing to a full stream", async (t) => {
  const { context, parts, streams } = await open(t);
  await insertDueDeliveries(context, 1);
  await insertDueDeliveries(context, 1, { is_bulk: true });
  const depth: Streams["depth"] = async (key) => (key === "{events:0}" ? 2_000 : 1_999);
  await sweepDeliveries({ ...parts, streams: { ...streams, depth } });
  t.equal(await streams.depth("{events:0}"), 0);
  t.equal(await streams.depth("{bulk:0}"), 1);
});
