import { randomUUID } from "node:crypto";
import type { Test } from "tap";
import t from "tap";
import { MINUTE } from "../../../../src/runtime/durations.ts";
import { createMetrics } from "../../../../src/runtime/metrics.ts";
import type { DeliveryRef } from "../../../../src/store/events/events.ts";
import { createDeliveryRecovery } from "../../../../workers/dispatcher/delivering/deliveries.ts";
import { createQuarantineRecorder } from "../../../../workers/dispatcher/delivering/outcomes.ts";
import { heartbeat } from "../../../../workers/heartbeat.ts";
import { captureLog } from "../../../fixtures/captured-log.ts";
import { readDelivery } from "../../../fixtures/events/events.ts";
import {
  insertDeadWorker,
  insertDueDeliveries,
  openQueueContext,
  secondsFromNow,
} from "../../../fixtures/events/queue-rows.ts";
import { watchStatements, withRepeatedTransactions } from "../../../fixtures/servers/statements.ts";
import { until } from "../../../fixtures/until.ts";

async function open(t: Test) {
  const context = await openQueueContext(t);
  await insertDeadWorker(context, "wrk_gone");
  const { log, lines, events } = captureLog();
  const metrics = createMetrics("dispatcher");
  const parts = {
    db: context.db,
    log,
    aliveForMs: () => MINUTE,
    onQuarantined: createQuarantineRecorder(log, metrics),
  };
  return { context, parts, lines, events, metrics };
}

const ORPHAN = {
  worker_id: "wrk_gone",
  lease: randomUUID(),
  claimed_at: secondsFromNow(-30),
};

t.test("a worker with a recent heartbeat gap does not reclaim rows of others", async (t) => {
  const { context, parts, events } = await open(t);
  const [ref] = (await insertDueDeliveries(context, 1, ORPHAN)) as [DeliveryRef];
  await createDeliveryRecovery({ ...parts, aliveForMs: () => 9_999 })();
  t.match(await readDelivery(context, ref.id), { worker_id: "wrk_gone" });
  await createDeliveryRecovery({ ...parts, aliveForMs: () => 10_000 })();
  t.match(await readDelivery(context, ref.id), { state: "pending", deaths: 1, worker_id: null });
  t.same(events(), ["recovery.reclaimed"]);
});

t.test("a recovery whose transaction is repeated logs and counts a quarantined delivery once", async (t) => {
  const { context, parts, lines, metrics } = await open(t);
  const [ref] = (await insertDueDeliveries(context, 1, { ...ORPHAN, deaths: 4 })) as [DeliveryRef];
  await insertDueDeliveries(context, 2, ORPHAN);
  await createDeliveryRecovery({ ...parts, db: withRepeatedTransactions(context.db) })();
  t.match(lines, [
    { level: "error", event: "delivery.quarantined", client: ref.clientId, event_id: ref.id, deaths: 5 },
    { level: "warn", event: "recovery.reclaimed", released: 2, quarantined: 1 },
  ]);
  t.equal(lines.length, 2);
  t.match(await metrics.text(), /herald_deliveries_total\{state="failed",process="dispatcher"\} 1/);
});

t.test("a recovery whose transaction is repeated logs what it reclaimed once", async (t) => {
  const { context, parts, events } = await open(t);
  await insertDueDeliveries(context, 1, ORPHAN);
  await createDeliveryRecovery({ ...parts, db: withRepeatedTransactions(context.db) })();
  t.same(events(), ["recovery.reclaimed"]);
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
