import { randomUUID } from "node:crypto";
import t from "tap";
import { HOUR } from "../../../src/runtime/durations.ts";
import { countFailedDeliveries, groupDeliveries } from "../../../src/store/events/queue-metrics.ts";
import { insertDueDeliveries, openQueueContext, secondsFromNow } from "../../fixtures/events/queue-rows.ts";

const IN_FLIGHT = { worker_id: "wrk_1", lease: randomUUID(), claimed_at: new Date() };

t.test("each delivery that is not finished is in one group", async (t) => {
  const context = await openQueueContext(t);
  const { db, clientId: client_id } = context;
  const [early, late, later] = [secondsFromNow(-30), secondsFromNow(-10), secondsFromNow(60)];
  const [first] = await insertDueDeliveries(context, 1, { next_attempt_at: late });
  await insertDueDeliveries(context, 1, { next_attempt_at: early });
  await insertDueDeliveries(context, 1, { state: "retrying", attempts: 1, next_attempt_at: late });
  await insertDueDeliveries(context, 1, { deaths: 3, next_attempt_at: late });
  await insertDueDeliveries(context, 2, { state: "retrying", attempts: 2, next_attempt_at: later });
  await insertDueDeliveries(context, 3, { is_bulk: true, next_attempt_at: early });
  await insertDueDeliveries(context, 2, IN_FLIGHT);
  for (const state of ["delivered", "failed", "skipped", "cancelled"])
    await insertDueDeliveries(context, 1, { state, next_attempt_at: null });
  const groups = new Map(
    (await groupDeliveries(db)).map((group) => [`${group.is_bulk ? "bulk " : ""}${group.situation}`, group]),
  );
  t.same(Object.fromEntries([...groups].map(([name, { count }]) => [name, count])), {
    due: 4,
    retry: 2,
    in_flight: 2,
    "bulk due": 3,
  });
  t.match(groups.get("due"), { client_id, next_attempt_at: early, oldest_id: first?.id });
});

t.test("deliveries that failed recently are counted until they are retried", async (t) => {
  const context = await openQueueContext(t);
  const { db, clientId: client_id } = context;
  await insertDueDeliveries(context, 2, { state: "failed", failed_at: secondsFromNow(-60) });
  await insertDueDeliveries(context, 1, { state: "failed", failed_at: secondsFromNow(-7_200) });
  await insertDueDeliveries(context, 1, { state: "pending", failed_at: secondsFromNow(-60) });
  t.same(await countFailedDeliveries(db, 1 * HOUR), [{ client_id, is_bulk: false, count: 2 }]);
});
