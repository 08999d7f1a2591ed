import {
  type Day,
  type DayRange,
  firstOfMonth,
  isDay,
  monthOf,
  plusDays,
  plusMonths,
  weekdayOf,
} from "../../../runtime/days.ts";
import { GraphError, invalidParameter } from "../../graph/graph-error.ts";
import { ownProperty, type Params } from "../../graph/params.ts";

const MAX_INCREMENT_DAYS = 90;

/** Returns the requested periods: one per range, or the parts of one range by `time_increment`. */
export function readPeriods(params: Params, today: Day): DayRange[] {
  const ranges = params.list("time_ranges")?.map((range) => readRange(range, today));
  if (ranges && ranges.length > 0) return ranges;
  return splitRange(readSingleRange(params, today), params.text("time_increment") ?? "all_days", today);
}

function readSingleRange(params: Params, today: Day): DayRange {
  const range = params.object("time_range");
  if (range) return readRange(range, today);
  const preset = params.text("date_preset") ?? "last_30d";
  const toRange = ownProperty(DATE_PRESETS, preset);
  if (!toRange)
    throw invalidParameter(
      `Param date_preset must be one of {${Object.keys(DATE_PRESETS).join(", ")}} - got "${preset}"`,
    );
  return toRange(today);
}

function readRange(range: unknown, today: Day): DayRange {
  const { since, until } = (range ?? {}) as Record<string, unknown>;
  if (!isDay(since) || !isDay(until))
    throw invalidParameter("Param time_range must have since and until as YYYY-MM-DD");
  if (since > until) throw invalidParameter("Param time_range: since must not be after until");
  if (since < oldestDay(today))
    throw new GraphError(
      3018,
      "(#3018) The start date of the time range cannot be beyond 37 months from the current date",
    );
  return { since, until };
}

function splitRange(range: DayRange, increment: string, today: Day): DayRange[] {
  if (increment === "all_days") return [range];
  const splitBy = (next: (since: Day) => Day) => splitUntilToday(today, range, next);
  if (increment === "monthly") return splitBy((since) => firstOfMonth(since, 1));
  const days = /^\d{1,2}$/.test(increment) ? Number(increment) : 0;
  if (days < 1 || days > MAX_INCREMENT_DAYS)
    throw invalidParameter(`Param time_increment must be 1 to ${MAX_INCREMENT_DAYS}, monthly or all_days`);
  return splitBy((since) => plusDays(since, days));
}

/** Splits only up to today: later periods have no rows, and a range may end in the year 9999. */
function splitUntilToday(today: Day, range: DayRange, next: (since: Day) => Day): DayRange[] {
  const { since, until } = range;
  if (since > today) return [range];
  const periods: DayRange[] = [];
  for (let start = since; start <= until && start <= today; start = next(start)) {
    const end = plusDays(next(start), -1);
    periods.push({ since: start, until: end < until ? end : until });
  }
  return periods;
}

/** The platform keeps insights for 37 months. */
const oldestDay = (today: Day): Day => plusMonths(today, -37);

/** The given number of days before today. */
const lastDays =
  (days: number) =>
  (today: Day): DayRange => ({ since: plusDays(today, -days), until: plusDays(today, -1) });

const untilToday =
  (since: (today: Day) => Day) =>
  (today: Day): DayRange => ({ since: since(today), until: today });

/** The complete period before the current one. */
const precedingPeriod =
  (current: (today: Day) => Day, previous: (today: Day) => Day) =>
  (today: Day): DayRange => ({ since: previous(today), until: plusDays(current(today), -1) });

const startOfWeek = (firstWeekday: 0 | 1) => (today: Day) =>
  plusDays(today, -((weekdayOf(today) - firstWeekday + 7) % 7));
const startOfPreviousWeek = (firstWeekday: 0 | 1) => (today: Day) =>
  plusDays(startOfWeek(firstWeekday)(today), -7);
const startOfMonth = (today: Day) => firstOfMonth(today);
const startOfQuarter = (today: Day) => firstOfMonth(today, -(monthOf(today) % 3));
const startOfYear = (today: Day) => firstOfMonth(today, -monthOf(today));

/** Named ranges relative to today. */
export const DATE_PRESETS: Readonly<Record<string, (today: Day) => DayRange>> = {
  today: untilToday((today) => today),
  yesterday: lastDays(1),
  this_month: untilToday(startOfMonth),
  last_month: precedingPeriod(startOfMonth, (today) => firstOfMonth(today, -1)),
  this_quarter: untilToday(startOfQuarter),
  maximum: untilToday(oldestDay),
  data_maximum: untilToday(oldestDay),
  last_3d: lastDays(3),
  last_7d: lastDays(7),
  last_14d: lastDays(14),
  last_28d: lastDays(28),
  last_30d: lastDays(30),
  last_90d: lastDays(90),
  last_week_mon_sun: precedingPeriod(startOfWeek(1), startOfPreviousWeek(1)),
  last_week_sun_sat: precedingPeriod(startOfWeek(0), startOfPreviousWeek(0)),
  last_quarter: precedingPeriod(startOfQuarter, (today) => firstOfMonth(startOfQuarter(today), -3)),
  last_year: precedingPeriod(startOfYear, (today) => firstOfMonth(startOfYear(today), -12)),
  this_week_mon_today: untilToday(startOfWeek(1)),
  this_week_sun_today: untilToday(startOfWeek(0)),
  this_year: untilToday(startOfYear),
};
