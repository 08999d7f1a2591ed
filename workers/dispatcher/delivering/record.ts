import { logAttempt } from "../../../src/delivery/attempt-log.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import type { Metrics } from "../../../src/runtime/metrics/metrics.ts";
import type { ClaimedDelivery } from "../../../src/store/events/claim-deliveries.ts";
import type { QuarantinedDelivery } from "../../../src/store/events/recover-deliveries.ts";
import type { DeliveryOutcome } from "./outcomes.ts";

/** Logs and counts each attempt. */
export function createAttemptRecorder(log: Log, metrics: Metrics) {
  return (row: ClaimedDelivery, { state, outcome, attempt, delay_ms, fault }: DeliveryOutcome): void => {
    if (delay_ms === null) metrics.deliveries.inc({ state });
    if (!attempt || !outcome) return;
    metrics.attempts.inc({ outcome });
    metrics.attemptSeconds.observe(attempt.duration_ms / SECOND);
    logAttempt(log, {
      client: row.client_id,
      messageId: row.message_id,
      eventId: row.id,
      type: row.type,
      key: row.key,
      attempt: row.attempts + 1,
      outcome,
      state,
      status: attempt.status_code,
      error: attempt.error,
      retryIn: delay_ms,
      durationMs: attempt.duration_ms,
      fault,
    });
  };
}

/** Logs and counts each delivery that failed because its dispatchers died. */
export const createQuarantineRecorder =
  (log: Log, metrics: Metrics) =>
  ({ clientId: client, id: event_id, deaths }: QuarantinedDelivery): void => {
    metrics.deliveries.inc({ state: "failed" });
    log.error("delivery.quarantined", { client, event_id, deaths });
  };
