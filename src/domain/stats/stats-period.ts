import { DAY, HOUR, MINUTE } from "../../runtime/durations.ts";
import type { StatsInterval } from "../../schema/enumerations.ts";
import { type PeriodInput, type PeriodProblem, readPeriod } from "../../schema/period.ts";

/** Statistics reach this far back. */
export const MAX_STATS_DAYS = 92;
const DEFAULT_PERIOD_MS = 1 * DAY;

/** A caller that asks for 92 days until now has calculated `since` a moment ago. */
const NOW_TOLERANCE_MS = 1 * MINUTE;

const INTERVALS_MS: Readonly<Record<StatsInterval, number>> = { hour: 1 * HOUR, day: 1 * DAY };

/** From the start of the first interval to the end of the last one. */
export interface StatsPeriod {
  since: Date;
  until: Date;
  interval: StatsInterval;
}

export interface StatsPeriodInput extends PeriodInput {
  interval?: StatsInterval | undefined;
}

/** Returns the whole intervals that contain the given times (default: the last 24 h), or the problem with them. */
export function readStatsPeriod(
  { interval = "hour", ...input }: StatsPeriodInput,
  now: number,
): StatsPeriod | PeriodProblem {
  const period = readPeriod(input);
  if ("field" in period) return period;
  const until = period.until?.getTime() ?? Math.max(now, period.since?.getTime() ?? now);
  const since = period.since?.getTime() ?? until - DEFAULT_PERIOD_MS;
  const tolerance = period.until === undefined ? NOW_TOLERANCE_MS : 0;
  if (until - since > MAX_STATS_DAYS * DAY + tolerance)
    return { field: "since", problem: `must be at most ${MAX_STATS_DAYS} days before`, other: "until" };
  const span = INTERVALS_MS[interval];
  return {
    since: toDate(Math.floor(since / span) * span),
    until: toDate(Math.ceil(until / span) * span),
    interval,
  };
}

const LAST_TIME = Date.UTC(9999, 11, 31);

/** Stays within the years that a timestamp of the API can express. */
const toDate = (time: number): Date => new Date(Math.min(Math.max(time, 0), LAST_TIME));
