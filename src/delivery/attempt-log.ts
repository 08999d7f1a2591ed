import { SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/logging/log.ts";

/** What an operator learns of one attempt to tell an event: nothing of what was told, or by which token. */
export interface LoggedAttempt {
  client: string;
  eventId: string;
  type: string;
  key: string | null;
  attempt: number;
  outcome: string;
  /** How it stands with the event from now on. */
  state: string;
  status: number | null;
  error: string | null;
  /** Milliseconds until the next one; null where there is none. */
  retryIn: number | null;
  durationMs: number;
  /** What could not even be sent, and why. */
  fault?: Error | undefined;
}

export function logAttempt(log: Log, attempt: LoggedAttempt): void {
  const { client, eventId, type, key, outcome, state, status, error, retryIn, durationMs, fault } = attempt;
  log[fault ? "error" : "info"]("delivery.attempted", {
    client,
    event_id: eventId,
    type,
    key,
    attempt: attempt.attempt,
    outcome,
    state,
    status,
    error,
    retry_in: retryIn === null ? null : Math.round(retryIn / SECOND),
    ...(fault ? { err: fault } : {}),
    ms: durationMs,
  });
}
