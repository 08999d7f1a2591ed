import { randomUUID } from "node:crypto";
import t from "tap";
import { measureQueue } from "../../../src/store/events/queue-metrics.ts";
import { clientEndingIn, dueRows, inSeconds, openQueue } from "../../fixtures/events/queue-rows.ts";

const WHOLE = { isBulk: false, partitions: 1, partition: 0 };
const IN_HAND = { state: "in_flight", worker_id: "wrk_1", lease: randomUUID(), claimed_at: new Date() };

t.test("a queue with nothing in it is not late", async (t) => {
  const ground = await openQueue(t);
  await dueRows(ground, 1, { next_attempt_at: inSeconds(60) });
  await dueRows(ground, 1, { state: "delivered", next_attempt_at: null });
  t.same(await measureQueue(ground.db, WHOLE), { oldest_due_at: null, in_flight: 0 });
});

t.test(
  "the oldest that waits is shown, whether it was told to Redis or not, and how many are out",
  async (t) => {
    const ground = await openQueue(t);
    const [first, second, third] = [inSeconds(-10), inSeconds(-20), inSeconds(-30)];
    const oldest = async () => (await measureQueue(ground.db, WHOLE)).oldest_due_at;
    await dueRows(ground, 1, { next_attempt_at: first });
    t.same(await oldest(), first);
    await dueRows(ground, 1, { next_attempt_at: second, enqueued_at: second, queue_epoch: "e" });
    t.same(await oldest(), second);
    await dueRows(ground, 1, { state: "retrying", next_attempt_at: third });
    t.same(await oldest(), third);
    await dueRows(ground, 2, { ...IN_HAND, next_attempt_at: inSeconds(-60) });
    t.same(await measureQueue(ground.db, WHOLE), { oldest_due_at: third, in_flight: 2 });
  },
);

t.test("each stream has its own figures", async (t) => {
  const ground = await openQueue(t);
  const ninth = { ...ground, clientId: await clientEndingIn(ground.db, 9) };
  const [early, late] = [inSeconds(-50), inSeconds(-5)];
  await dueRows(ground, 1, { next_attempt_at: early });
  await dueRows(ninth, 1, { next_attempt_at: late });
  await dueRows(ninth, 1, IN_HAND);
  await dueRows(ninth, 3, { ...IN_HAND, is_bulk: true });
  const of = (partition: number, isBulk: boolean) =>
    measureQueue(ground.db, { isBulk, partitions: 8, partition });
  t.same(await of(0, false), { oldest_due_at: early, in_flight: 0 });
  t.same(await of(1, false), { oldest_due_at: late, in_flight: 1 });
  t.same(await of(1, true), { oldest_due_at: null, in_flight: 3 });
  t.same(await of(2, false), { oldest_due_at: null, in_flight: 0 });
});
