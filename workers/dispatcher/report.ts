import { SECOND } from "../../src/runtime/durations.ts";
import type { Log } from "../../src/runtime/log.ts";
import type { Metrics } from "../../src/runtime/metrics.ts";
import type { ClaimedRow } from "../../src/store/claims.ts";
import type { Ending } from "./endings.ts";

/** One line for each attempt, and what is counted of it. */
export function createReport(log: Log, metrics: Metrics) {
  return (row: ClaimedRow, { state, outcome, attempt, delay_ms, fault }: Ending): void => {
    if (delay_ms === null) metrics.deliveries.inc({ state });
    if (!attempt || !outcome) return;
    metrics.attempts.inc({ outcome });
    metrics.attemptSeconds.observe(attempt.duration_ms / SECOND);
    log[fault ? "error" : "info"]("delivery.attempted", {
      client: row.client_id,
      event_id: row.id,
      type: row.type,
      key: row.key,
      attempt: row.attempts + 1,
      outcome,
      status: attempt.status_code,
      error: attempt.error,
      retry_in: delay_ms === null ? null : Math.round(delay_ms / SECOND),
      ...(fault ? { err: fault } : {}),
      ms: attempt.duration_ms,
    });
  };
}
