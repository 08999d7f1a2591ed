import {
  type Day,
  type DayRange,
  firstOfMonth,
  monthOf,
  plusDays,
  plusMonths,
  weekdayOf,
} from "../../../runtime/days.ts";

/** The platform keeps insights for 37 months. */
export const oldestDay = (today: Day): Day => plusMonths(today, -37);

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
