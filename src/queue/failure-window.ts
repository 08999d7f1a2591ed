import { MINUTE, SECOND } from "../runtime/durations.ts";

/** How the calls to one destination have gone lately, as this process saw it. */
export interface FailureCounts {
  /** Failures since the last success. */
  consecutiveFailures: number;
  /** Two halves of the time that is looked at, the older one first. */
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

/** The tally after one more call. */
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

/** Whether it says nothing any more. */
export const isExpired = ({ consecutiveFailures, halves }: FailureCounts, now: number): boolean =>
  consecutiveFailures === 0 && now - halves[1].startedAt > 2 * HALF_WINDOW_MS;

/** Whether it is to be left alone for a while. */
export function shouldOpen({ consecutiveFailures, halves: [older, newer] }: FailureCounts): boolean {
  const [calls, failures] = [older.calls + newer.calls, older.failures + newer.failures];
  return consecutiveFailures >= MAX_CONSECUTIVE_FAILURES || (calls >= MIN_CALLS && failures * 2 >= calls);
}

/** How long it is left alone, by how often a probe has failed since. */
export const openDuration = (failedProbes: number): number =>
  Math.min(5 * SECOND * 2 ** failedProbes, 10 * MINUTE);
