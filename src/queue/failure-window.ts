import { MINUTE, SECOND } from "../runtime/durations.ts";

/** Results of the recent calls of this process to one destination. */
export interface FailureCounts {
  /** Failures since the last success. */
  consecutiveFailures: number;
  /** The two halves of the one-minute window, the older one first. */
  halves: readonly [HalfWindow, HalfWindow];
}

interface HalfWindow {
  startedAt: number;
  calls: number;
  failures: number;
}

const HALF_WINDOW_MS = MINUTE / 2;
const MAX_CONSECUTIVE_FAILURES = 5;
const MIN_CALLS = 20;

const emptyHalf = (startedAt: number): HalfWindow => ({ startedAt, calls: 0, failures: 0 });

export const newFailureCounts = (now: number): FailureCounts => ({
  consecutiveFailures: 0,
  halves: [emptyHalf(now), emptyHalf(now)],
});

/** Returns the counts after one more call. */
export function countCall(
  { consecutiveFailures, halves }: FailureCounts,
  isFailure: boolean,
  now: number,
): FailureCounts {
  const [older, newer] = now - halves[1].startedAt < HALF_WINDOW_MS ? halves : [halves[1], emptyHalf(now)];
  const olderHalf = now - older.startedAt < 2 * HALF_WINDOW_MS ? older : emptyHalf(now);
  const newerHalf = { ...newer, calls: newer.calls + 1, failures: newer.failures + Number(isFailure) };
  return { consecutiveFailures: isFailure ? consecutiveFailures + 1 : 0, halves: [olderHalf, newerHalf] };
}

/** True when the counts can be dropped: the last call succeeded and the window is over. */
export const isExpired = ({ consecutiveFailures, halves }: FailureCounts, now: number): boolean =>
  consecutiveFailures === 0 && now - halves[1].startedAt > 2 * HALF_WINDOW_MS;

export function shouldOpen({ consecutiveFailures, halves: [older, newer] }: FailureCounts): boolean {
  const [calls, failures] = [older.calls + newer.calls, older.failures + newer.failures];
  return consecutiveFailures >= MAX_CONSECUTIVE_FAILURES || (calls >= MIN_CALLS && failures * 2 >= calls);
}

/** Milliseconds that a breaker stays open; each failed probe doubles them. */
export const openDuration = (failedProbes: number): number =>
  Math.min(5 * SECOND * 2 ** failedProbes, 10 * MINUTE);
