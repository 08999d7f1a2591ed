import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import { createParking } from "../../../../src/queue/parking.ts";
import type { RedisClient } from "../../../../src/queue/redis.ts";
import { createStreams, type Streams } from "../../../../src/queue/streams.ts";
import { MINUTE } from "../../../../src/runtime/durations.ts";
import type { DeliveryRef } from "../../../../src/store/events/delivery-refs.ts";
import { type SweepParts, sweep } from "../../../../workers/dispatcher/delivering/sweeper.ts";
import { heartbeat } from "../../../../workers/heartbeat.ts";
import { keptLog } from "../../../fixtures/captured-log.ts";
import { deliveryOf } from "../../../fixtures/events/events.ts";
import { dueRows, inSeconds, openQueue } from "../../../fixtures/events/queue-rows.ts";
import { connectedRedis, producer } from "../../../fixtures/servers/redis.ts";
import { watchStatements } from "../../../fixtures/servers/statements.ts";
import { until } from "../../../fixtures/until.ts";

async function open(t: Test, redis?: RedisClient) {
  const ground = await openQueue(t);
  const client = redis ?? (await connectedRedis(t));
  const [streams, parking] = [createStreams(client, 1), createParking(client, 1)];
  const { log, events } = keptLog();
  const parts: SweepParts = { db: ground.db, streams, parking, log, steadyFor: () => MINUTE };
  return { ground, streams, parts, events };
}

const ORPHAN = { state: "in_flight", worker_id: "wrk_gone", lease: randomUUID(), claimed_at: inSeconds(-30) };

t.test("who was silent itself does not declare others dead", async (t) => {
  const { ground, parts, events } = await open(t);
  const [ref] = (await dueRows(ground, 1, ORPHAN)) as [DeliveryRef];
  await sweep({ ...parts, steadyFor: () => 9_999 });
  t.match(await deliveryOf(ground, ref.id), { state: "in_flight", worker_id: "wrk_gone" });
  await sweep({ ...parts, steadyFor: () => 10_000 });
  t.match(await deliveryOf(ground, ref.id), { state: "retrying", attempts: 1, enqueued_at: Date });
  t.same(events(), ["sweep.recovered"]);
});

t.test("a heart that missed a few beats is steady from nothing on", async (t) => {
  const { ground } = await open(t);
  let isAway = false;
  const { database } = watchStatements(async () => {
    if (isAway) throw new Error("away");
  });
  const clock = { now: 5_000 };
  const parts = { id: "wrk_1", db: database(ground.db), log: keptLog().log, now: () => clock.now };
  const heart = heartbeat({ ...parts, process: "dispatcher" });
  t.equal(heart.steadyFor(), 0);
  await heart.start?.({ fail: (error) => t.fail(String(error)) });
  t.teardown(() => heart.close?.());
  isAway = true;
  clock.now += 5_000;
  t.equal(heart.steadyFor(), 5_000);
  clock.now += 1_000;
  t.equal(heart.steadyFor(), 0, "as it is while it is silent");
  isAway = false;
  await until("it beats again", async () => {
    clock.now += 1;
    return heart.steadyFor() > 0;
  });
  t.ok(heart.steadyFor() < 5_000, "what was before the silence does not count");
});

t.test("while Redis is away the dead are looked after, and nothing is marked as queued", async (t) => {
  const { ground, parts } = await open(t, producer(t));
  const [orphan] = (await dueRows(ground, 1, ORPHAN)) as [DeliveryRef];
  const [due] = (await dueRows(ground, 1)) as [DeliveryRef];
  await sweep(parts);
  t.match(await deliveryOf(ground, orphan.id), { state: "retrying", enqueued_at: null });
  t.match(await deliveryOf(ground, due.id), { state: "pending", enqueued_at: null });
});

t.test("more than a batch is told in one sweep, each lane to its own stream", async (t) => {
  const { ground, parts, streams } = await open(t);
  await dueRows(ground, 501);
  await dueRows(ground, 2, { is_bulk: true });
  await sweep(parts);
  t.equal(await streams.depth("{events:0}"), 501);
  t.equal(await streams.depth("{bulk:0}"), 2);
});

t.test("two that sweep at once tell each one once", async (t) => {
  const { ground, parts, streams } = await open(t);
  await dueRows(ground, 50);
  await Promise.all([sweep(parts), sweep(parts), sweep(parts)]);
  t.equal(await streams.depth("{events:0}"), 50);
});

t.test("what Redis does not take is due again, and is not tried for ever", async (t) => {
  const { ground, parts, streams, events } = await open(t);
  await dueRows(ground, 501);
  await dueRows(ground, 1, { is_bulk: true });
  const tried: string[] = [];
  const add: Streams["add"] = async (lane, refs) => {
    tried.push(lane);
    if (lane === "events" && tried.length < 20) throw new Error("not now"); // or a failure would hang
    await streams.add(lane, refs);
  };
  await sweep({ ...parts, streams: { ...streams, add } });
  t.same(tried, ["events", "bulk"]);
  t.same(events(), ["sweep.not_queued"]);
  const waiting = await ground.db.query("select 1 from deliveries where enqueued_at is null");
  t.equal(waiting.length, 501);
});

t.test("a stream that is full is given nothing more", async (t) => {
  const { ground, parts, streams } = await open(t);
  await dueRows(ground, 1);
  await dueRows(ground, 1, { is_bulk: true });
  const depth: Streams["depth"] = async (key) => (key === "{events:0}" ? 2_000 : 1_999);
  await sweep({ ...parts, streams: { ...streams, depth } });
  t.equal(await streams.depth("{events:0}"), 0);
  t.equal(await streams.depth("{bulk:0}"), 1);
});
