import { type Day, firstOfMonth, monthOf, plusDays, plusMonths, type Range, weekdayOf } from "./days.ts";

/** As far back as numbers are kept. */
export const oldestDay = (today: Day): Day => plusMonths(today, -37);

/** The days before today. */
const last =
  (days: number) =>
  (today: Day): Range => ({ since: plusDays(today, -days), until: plusDays(today, -1) });

const upTo =
  (since: (today: Day) => Day) =>
  (today: Day): Range => ({ since: since(today), until: today });

/** What ended before the current one began. */
const before =
  (current: (today: Day) => Day, previous: (today: Day) => Day) =>
  (today: Day): Range => ({ since: previous(today), until: plusDays(current(today), -1) });

const week = (firstWeekday: 0 | 1) => (today: Day) =>
  plusDays(today, -((weekdayOf(today) - firstWeekday + 7) % 7));
const weekBefore = (firstWeekday: 0 | 1) => (today: Day) => plusDays(week(firstWeekday)(today), -7);
const month = (today: Day) => firstOfMonth(today);
const quarter = (today: Day) => firstOfMonth(today, -(monthOf(today) % 3));
const year = (today: Day) => firstOfMonth(today, -monthOf(today));

/** Ranges with a name, seen from today. */
export const DATE_PRESETS: Readonly<Record<string, (today: Day) => Range>> = {
  today: upTo((today) => today),
  yesterday: last(1),
  this_month: upTo(month),
  last_month: before(month, (today) => firstOfMonth(today, -1)),
  this_quarter: upTo(quarter),
  maximum: upTo(oldestDay),
  data_maximum: upTo(oldestDay),
  last_3d: last(3),
  last_7d: last(7),
  last_14d: last(14),
  last_28d: last(28),
  last_30d: last(30),
  last_90d: last(90),
  last_week_mon_sun: before(week(1), weekBefore(1)),
  last_week_sun_sat: before(week(0), weekBefore(0)),
  last_quarter: before(quarter, (today) => firstOfMonth(quarter(today), -3)),
  last_year: before(year, (today) => firstOfMonth(year(today), -12)),
  this_week_mon_today: upTo(week(1)),
  this_week_sun_today: upTo(week(0)),
  this_year: upTo(year),
};
