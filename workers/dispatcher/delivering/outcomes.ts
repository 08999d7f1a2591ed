import type { PostedEvent } from "../../../src/delivery/post-event.ts";
import { nextDelay, parseRetryAfter } from "../../../src/delivery/retry-schedule.ts";
import { logAttempt } from "../../../src/delivery/signed-attempt.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Log } from "../../../src/runtime/log.ts";
import type { Metrics } from "../../../src/runtime/metrics.ts";
import type { DeliveryError } from "../../../src/schema/stored-errors.ts";
import type { ClaimedDelivery } from "../../../src/store/events/claim-deliveries.ts";
import type { AttemptRecord, DeliveryFinish } from "../../../src/store/events/finish-deliveries.ts";
import type { QuarantinedDelivery } from "../../../src/store/events/recover-deliveries.ts";

/** The outcome of a delivery without its key and lease. */
export type DeliveryOutcome = Pick<
  DeliveryFinish,
  "state" | "skip_reason" | "delay_ms" | "restart_delay_ms" | "attempt"
> & {
  /** The attempt's outcome for logs and metrics; absent when there was no attempt. */
  outcome?: PostedEvent["outcome"] | "internal";
  /** Why the delivery could not be built, for the log. */
  fault?: Error;
};

interface CompletedAttempt extends PostedEvent {
  at: Date;
  url: string;
  /** True when the shutdown aborted the attempt, which is then not counted. */
  isAborted: boolean;
}

const EMPTY_OUTCOME = { skip_reason: null, delay_ms: null, restart_delay_ms: null, attempt: null } as const;

export const skipped = (reason: "disabled" | "not_configured"): DeliveryOutcome => ({
  ...EMPTY_OUTCOME,
  state: "skipped",
  skip_reason: reason,
});

/** Due again after the delay; no attempt is counted. */
export const postponed = ({ attempts }: ClaimedDelivery, delay: number): DeliveryOutcome => ({
  ...EMPTY_OUTCOME,
  state: attempts === 0 ? "pending" : "retrying",
  delay_ms: delay,
});

export function outcomeOfAttempt(row: ClaimedDelivery, completed: CompletedAttempt): DeliveryOutcome {
  if (completed.isAborted) return postponed(row, 0);
  const attempt = toAttemptRecord(completed);
  const { outcome, statusCode } = completed;
  if (outcome === "delivered") return { ...EMPTY_OUTCOME, outcome, state: "delivered", attempt };
  if (statusCode === GONE) return { ...EMPTY_OUTCOME, outcome, state: "failed", attempt };
  return {
    ...retryOrFail(row, { retryAfterMs: parseRetryAfter(completed.retryAfter, Date.now()) }),
    outcome,
    attempt,
  };
}

/** Stored when the attempt's error or excerpt contains text that Postgres rejects. */
const INTERNAL_ERROR = "internal" satisfies DeliveryError;

/** Removes the text that came from the client's backend; undefined when there is none left to remove. */
export function withoutRemoteText({ attempt, ...finish }: DeliveryFinish): DeliveryFinish | undefined {
  if (!attempt || attempt.error === INTERNAL_ERROR) return undefined;
  return { ...finish, attempt: { ...attempt, error: INTERNAL_ERROR, response_excerpt: null } };
}

const GONE = 410;
/** Attempts after which a delivery that cannot be built fails. */
const MAX_INTERNAL_FAILURES = 5;

export function internalFailure(row: ClaimedDelivery, fault: Error): DeliveryOutcome {
  const attempt: AttemptRecord = {
    at: new Date(),
    url: null,
    status_code: null,
    duration_ms: 0,
    error: INTERNAL_ERROR,
    response_excerpt: null,
  };
  return {
    ...retryOrFail(row, { retryAfterMs: 0, maxAttempts: MAX_INTERNAL_FAILURES }),
    outcome: "internal",
    fault,
    attempt,
  };
}

/** Retries by the schedule, but not before Retry-After; fails when the schedule ends. */
function retryOrFail(
  { attempts, schedule_base }: ClaimedDelivery,
  { retryAfterMs, maxAttempts = Number.POSITIVE_INFINITY }: { retryAfterMs: number; maxAttempts?: number },
) {
  const attemptsMade = attempts + 1 - schedule_base;
  const delay = attemptsMade < maxAttempts ? nextDelay(attemptsMade) : undefined;
  const restartDelay = Math.max(nextDelay(1) as number, retryAfterMs);
  const state = delay === undefined ? ("failed" as const) : ("retrying" as const);
  return {
    ...EMPTY_OUTCOME,
    state,
    delay_ms: delay === undefined ? null : Math.max(delay, retryAfterMs),
    restart_delay_ms: restartDelay,
  };
}

const toAttemptRecord = ({
  at,
  url,
  statusCode,
  durationMs,
  error,
  excerpt,
}: CompletedAttempt): AttemptRecord => ({
  at,
  url,
  status_code: statusCode,
  duration_ms: durationMs,
  error,
  response_excerpt: excerpt,
});

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
