import { MAX_START_DELAY_MS } from "../../../src/runtime/deadlines.ts";
import type { WorkTracker } from "../../../src/runtime/watchdog/work-tracker.ts";
import type { ClaimedDelivery } from "../../../src/store/events/claim-deliveries.ts";
import type { DeliveryFinish } from "../../../src/store/events/finish-deliveries.ts";
import type { BatchWriter } from "../batch-writer.ts";
import type { AttemptControl } from "./deliver-event.ts";
import { type DeliveryOutcome, postponed } from "./outcomes.ts";
import type { StartPacer } from "./start-pacer.ts";

/** The lease of a claimed delivery, and when it was requested, in milliseconds of a monotonic clock. */
export interface Claim {
  lease: string;
  claimedAt: number;
}

export interface ClaimedAttemptParts {
  batchWriter: BatchWriter<DeliveryFinish>;
  pacer: StartPacer;
  /** True when no further call may start: the process stops, or the queue is held. */
  isStopped(): boolean;
  /** Aborted when open calls must end. */
  aborting: AbortSignal;
  tracker: WorkTracker;
  deliver(row: ClaimedDelivery, control: AttemptControl): Promise<DeliveryOutcome>;
  record(row: ClaimedDelivery, result: DeliveryOutcome): void;
}

/**
 * Attempts a claimed delivery; resolves when its outcome is written or abandoned. Calls `onCallEnd` before the outcome is
 * written, because the batch writer limits the unwritten outcomes. When the process stops, the queue is held, or
 * MAX_START_DELAY_MS have passed since the claim, the delivery is due again without an attempt.
 */
export async function attemptClaimed(
  { batchWriter, pacer, isStopped, aborting, tracker, deliver, record }: ClaimedAttemptParts,
  row: ClaimedDelivery,
  { lease, claimedAt }: Claim,
  onCallEnd: () => void,
): Promise<void> {
  const isLate = performance.now() - claimedAt > MAX_START_DELAY_MS;
  if (isLate || isStopped()) {
    onCallEnd();
    return batchWriter.finish(toFinish(row, lease, postponed(row, 0)));
  }
  const unit = tracker.begin(`delivery ${row.id} client ${row.client_id}`);
  try {
    const result = await pacer.track(deliver(row, { signal: aborting, unit })).finally(onCallEnd);
    unit.resume();
    record(row, result);
    await batchWriter.finish(toFinish(row, lease, result));
  } finally {
    unit.end();
  }
}

function toFinish(row: ClaimedDelivery, lease: string, result: DeliveryOutcome): DeliveryFinish {
  const { client_id, id, attempts, schedule_base } = row;
  const { outcome, fault, ...columns } = result;
  return { client_id, id, lease, attempts, schedule_base, ...columns };
}
