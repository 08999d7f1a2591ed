import type { PostedEvent } from "../../../src/delivery/post-event.ts";
import { nextDelay, parseRetryAfter } from "../../../src/delivery/retry-schedule.ts";
import type { ClaimedDelivery } from "../../../src/store/events/claim-deliveries.ts";
import type { AttemptRecord, DeliveryFinish } from "../../../src/store/events/finish-deliveries.ts";

/** How it goes on with a delivery, apart from whose it is. */
export type DeliveryOutcome = Pick<
  DeliveryFinish,
  "state" | "skip_reason" | "delay_ms" | "restart_delay_ms" | "attempt"
> & {
  /** What the log and the metrics say of the attempt; absent where there was none. */
  outcome?: PostedEvent["outcome"] | "internal";
  /** What could not be built, for the log. */
  fault?: Error;
};

interface CompletedAttempt extends PostedEvent {
  at: Date;
  url: string;
  /** We gave it up ourselves, because the process ends: it does not count. */
  isAborted: boolean;
}

const EMPTY_OUTCOME = { skip_reason: null, delay_ms: null, restart_delay_ms: null, attempt: null } as const;

export const skipped = (reason: "disabled" | "not_configured"): DeliveryOutcome => ({
  ...EMPTY_OUTCOME,
  state: "skipped",
  skip_reason: reason,
});

/** Due again later, as if nothing had been. */
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

/** Of whom something was said that no database can keep. */
const INTERNAL_ERROR = "internal";

/** Without anything that others have said; undefined where nothing can be left out any more. */
export function withoutRemoteText({ attempt, ...finish }: DeliveryFinish): DeliveryFinish | undefined {
  if (!attempt || attempt.error === INTERNAL_ERROR) return undefined;
  return { ...finish, attempt: { ...attempt, error: INTERNAL_ERROR, response_excerpt: null } };
}

const GONE = 410;
/** So often is tried what we cannot even build. */
const MAX_INTERNAL_FAILURES = 5;

export function internalFailure(row: ClaimedDelivery, fault: Error): DeliveryOutcome {
  const attempt: AttemptRecord = {
    at: new Date(),
    url: null,
    status_code: null,
    duration_ms: 0,
    error: "internal",
    response_excerpt: null,
  };
  return {
    ...retryOrFail(row, { retryAfterMs: 0, maxAttempts: MAX_INTERNAL_FAILURES }),
    outcome: "internal",
    fault,
    attempt,
  };
}

/** By the schedule, but not before the other end wants it; failed when the schedule is over. */
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
