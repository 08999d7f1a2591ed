import type { PostedEvent } from "../../../src/delivery/post-event.ts";
import { askedDelay, nextDelay } from "../../../src/delivery/retry-schedule.ts";
import type { AttemptRecord, ClaimedRow, Finish } from "../../../src/store/events/claim-deliveries.ts";

/** How it goes on with a delivery, apart from whose it is. */
export type Ending = Pick<Finish, "state" | "skip_reason" | "delay_ms" | "restart_delay_ms" | "attempt"> & {
  /** What the log and the metrics say of the attempt; absent where there was none. */
  outcome?: PostedEvent["outcome"] | "internal";
  /** What could not be built, for the log. */
  fault?: Error;
};

interface MadeAttempt extends PostedEvent {
  at: Date;
  url: string;
  /** We gave it up ourselves, because the process ends: it does not count. */
  isAborted: boolean;
}

const NOTHING = { skip_reason: null, delay_ms: null, restart_delay_ms: null, attempt: null } as const;

export const skipped = (reason: "disabled" | "not_configured"): Ending => ({
  ...NOTHING,
  state: "skipped",
  skip_reason: reason,
});

/** Due again later, as if nothing had been. */
export const postponed = ({ attempts }: ClaimedRow, delay: number): Ending => ({
  ...NOTHING,
  state: attempts === 0 ? "pending" : "retrying",
  delay_ms: delay,
});

export function ended(row: ClaimedRow, made: MadeAttempt): Ending {
  if (made.isAborted) return postponed(row, 0);
  const attempt = recordOf(made);
  const { outcome, statusCode } = made;
  if (outcome === "delivered") return { ...NOTHING, outcome, state: "delivered", attempt };
  if (statusCode === GONE) return { ...NOTHING, outcome, state: "failed", attempt };
  return { ...again(row, { asked: askedDelay(made.retryAfter, Date.now()) }), outcome, attempt };
}

/** Of whom something was said that no database can keep. */
const UNWRITABLE = "internal";

/** Without anything that others have said; undefined where nothing can be left out any more. */
export function bare({ attempt, ...finish }: Finish): Finish | undefined {
  if (!attempt || attempt.error === UNWRITABLE) return undefined;
  return { ...finish, attempt: { ...attempt, error: UNWRITABLE, response_excerpt: null } };
}

const GONE = 410;
/** So often is tried what we cannot even build. */
const MOST_SPOILED = 5;

export function spoiled(row: ClaimedRow, fault: Error): Ending {
  const attempt: AttemptRecord = {
    at: new Date(),
    url: null,
    status_code: null,
    duration_ms: 0,
    error: "internal",
    response_excerpt: null,
  };
  return { ...again(row, { asked: 0, most: MOST_SPOILED }), outcome: "internal", fault, attempt };
}

/** By the schedule, but not before the other end wants it; failed when the schedule is over. */
function again(
  { attempts, schedule_base }: ClaimedRow,
  { asked, most = Number.POSITIVE_INFINITY }: { asked: number; most?: number },
) {
  const made = attempts + 1 - schedule_base;
  const delay = made < most ? nextDelay(made) : undefined;
  const fromStart = Math.max(nextDelay(1) as number, asked);
  const state = delay === undefined ? ("failed" as const) : ("retrying" as const);
  return {
    ...NOTHING,
    state,
    delay_ms: delay === undefined ? null : Math.max(delay, asked),
    restart_delay_ms: fromStart,
  };
}

const recordOf = ({ at, url, statusCode, durationMs, error, excerpt }: MadeAttempt): AttemptRecord => ({
  at,
  url,
  status_code: statusCode,
  duration_ms: durationMs,
  error,
  response_excerpt: excerpt,
});
