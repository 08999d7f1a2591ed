import { randomUUID } from "node:crypto";
import t from "tap";
import { measureDeliveries } from "../../../src/store/events/queue-metrics.ts";
import {
  insertClientWithLastByte,
  insertDueDeliveries,
  openQueueContext,
  secondsFromNow,
} from "../../fixtures/events/queue-rows.ts";

const SINGLE_PARTITION = { isBulk: false, partitions: 1, partition: 0 };
const IN_FLIGHT = { state: "in_flight", worker_id: "wrk_1", lease: randomUUID(), claimed_at: new Date() };

t.test("a queue without due deliveries has no oldest due time", async (t) => {
  const context = await openQueueContext(t);
  await insertDueDeliveries(context, 1, { next_attempt_at: secondsFromNow(60) });
  await insertDueDeliveries(context, 1, { state: "delivered", next_attempt_at: null });
  t.same(await measureDeliveries(context.db, SINGLE_PARTITION), { oldest_due_at: null, in_flight: 0 });
});

t.test(
  "the metrics show the oldest waiting delivery, queued or not, and count those in flight",
  async (t) => {
    const context = await openQueueContext(t);
    const [first, second, third] = [secondsFromNow(-10), secondsFromNow(-20), secondsFromNow(-30)];
    const oldest = async () => (await measureDeliveries(context.db, SINGLE_PARTITION)).oldest_due_at;
    await insertDueDeliveries(context, 1, { next_attempt_at: first });
    t.same(await oldest(), first);
    await insertDueDeliveries(context, 1, { next_attempt_at: second, enqueued_at: second, queue_epoch: "e" });
    t.same(await oldest(), second);
    await insertDueDeliveries(context, 1, { state: "retrying", next_attempt_at: third });
    t.same(await oldest(), third);
    const fourth = secondsFromNow(-40);
    await insertDueDeliveries(context, 1, { deaths: 3, next_attempt_at: fourth });
    t.same(await oldest(), fourth, "a suspect waits too");
    await insertDueDeliveries(context, 2, { ...IN_FLIGHT, next_attempt_at: secondsFromNow(-60) });
    t.same(await measureDeliveries(context.db, SINGLE_PARTITION), { oldest_due_at: fourth, in_flight: 2 });
  },
);

t.test("each stream has its own metrics", async (t) => {
  const context = await openQueueContext(t);
  const ninth = { ...context, clientId: await insertClientWithLastByte(context.db, 9) };
  const [early, late] = [secondsFromNow(-50), secondsFromNow(-5)];
  await insertDueDeliveries(context, 1, { next_attempt_at: early });
  await insertDueDeliveries(ninth, 1, { next_attempt_at: late });
  await insertDueDeliveries(ninth, 1, IN_FLIGHT);
  await insertDueDeliveries(ninth, 3, { ...IN_FLIGHT, is_bulk: true });
  const measure = (partition: number, isBulk: boolean) =>
    measureDeliveries(context.db, { isBulk, partitions: 8, partition });
  t.same(await measure(0, false), { oldest_due_at: early, in_flight: 0 });
  t.same(await measure(1, false), { oldest_due_at: late, in_flight: 1 });
  t.same(await measure(1, true), { oldest_due_at: null, in_flight: 3 });
  t.same(await measure(2, false), { oldest_due_at: null, in_flight: 0 });
});
