import { SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/logging/log.ts";

/** Log fields of one attempt. They contain neither the payload nor the token. */
export interface LoggedAttempt {
  client: string;
  /** The outbound message that the event is about. */
  messageId?: string | null;
  eventId: string;
  type: string;
  key: string | null;
  attempt: number;
  outcome: string;
  /** State of the delivery after the attempt. */
  state: string;
  status: number | null;
  error: string | null;
  /** Milliseconds until the next attempt; null when there is none. */
  retryIn: number | null;
  durationMs: number;
  /** Set when the request could not be built. */
  fault?: Error | undefined;
}

export function logAttempt(log: Log, attempt: LoggedAttempt): void {
  const { client, messageId, eventId, type, key, outcome, state, status, error, retryIn, durationMs, fault } =
    attempt;
  log[fault ? "error" : "info"]("delivery.attempted", {
    client,
    message_id: messageId,
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
