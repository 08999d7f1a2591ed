import { randomUUID } from "node:crypto";
import t from "tap";
import { newId } from "../../../../src/runtime/ids.ts";
import { NO_TRACKER } from "../../../../src/runtime/watchdog.ts";
import type { Database } from "../../../../src/store/database/database.ts";
import type { ClaimedDelivery } from "../../../../src/store/events/claim-deliveries.ts";
import type { DeliveryFinish } from "../../../../src/store/events/finish-deliveries.ts";
import {
  createConcurrencyLimiter,
  DELIVERY_LANES,
} from "../../../../workers/dispatcher/concurrency-limiter.ts";
import { createDeliveries } from "../../../../workers/dispatcher/delivering/deliveries.ts";
import { until } from "../../../fixtures/until.ts";

const newRow = (): ClaimedDelivery => ({
  client_id: randomUUID(),
  id: newId("evt"),
  is_bulk: false,
  due_at: new Date(),
  attempts: 0,
  schedule_base: 0,
  type: "message.received",
  key: "chatapp",
  message_id: null,
  payload: "{}",
  webhook_url: "https://backend.example",
  is_off: false,
  secret_sealed: null,
  former_secret_sealed: null,
  former_secret_until: null,
  token_header: true,
});

/** No delivery starts before `resume`. */
function open() {
  const finishes: DeliveryFinish[] = [];
  const begun: string[] = [];
  let resume = () => {};
  let waitCalls = 0;
  const drained = new Promise<void>((resolve) => {
    resume = resolve;
  });
  const limiter = createConcurrencyLimiter({ slots: 20, lanes: DELIVERY_LANES });
  const deliveries = createDeliveries({
    worker: "wrk_1",
    db: { query: async () => [] } as unknown as Database,
    limiter,
    sleepOf: () => 0,
    sleepingClients: () => [],
    mayClaim: () => true,
    isHeld: () => false,
    onSlotFree: () => {},
    batchWriter: {
      waitForDrain: () => {
        waitCalls += 1;
        return drained;
      },
      finish: async (finish) => void finishes.push(finish),
      abandon: () => {},
    },
    tracker: NO_TRACKER,
    async deliver(row) {
      begun.push(row.id);
      throw new Error("no delivery may start");
    },
    record: () => {},
  });
  const untilWaiting = () => until("the delivery waits for its start", () => waitCalls > 0);
  return { deliveries, limiter, finishes, begun, untilWaiting, resume };
}

t.test("claimed deliveries that have not started are due again when the dispatcher stops", async (t) => {
  const rows = [newRow(), newRow()];
  const { deliveries, limiter, finishes, begun, untilWaiting, resume } = open();
  for (const row of rows) t.equal(deliveries.queue.acquire(deliveries.queue.keyOf(row), 1), 1);
  deliveries.queue.start(rows, { lease: randomUUID(), claimedAt: performance.now() });
  await untilWaiting();
  t.equal(limiter.used(), 2);
  deliveries.stop();
  resume();
  await deliveries.drain();
  t.same(begun, []);
  t.match(finishes, [
    { id: rows[0]?.id, state: "pending", delay_ms: 0, attempt: null },
    { id: rows[1]?.id, state: "pending", delay_ms: 0, attempt: null },
  ]);
  t.equal(limiter.used(), 0);
});
