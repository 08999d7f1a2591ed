import { DAY } from "./durations.ts";

/** A day such as `2026-09-01`. Days compare as text. */
export type Day = string;

/** Includes both days. */
export interface DayRange {
  since: Day;
  until: Day;
}

const dateOf = (day: Day) => new Date(`${day}T00:00:00Z`);
const dayOf = (date: Date): Day => date.toISOString().slice(0, 10);

export function isDay(value: unknown): value is Day {
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\d$/.test(value)) return false;
  const date = dateOf(value);
  return !Number.isNaN(date.getTime()) && dayOf(date) === value;
}

export const plusDays = (day: Day, days: number): Day => dayOf(new Date(dateOf(day).getTime() + days * DAY));

/** Returns the first day of the month, shifted by `monthsAway` months. */
export function firstOfMonth(day: Day, monthsAway = 0): Day {
  const date = dateOf(day);
  return dayOf(new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsAway, 1)));
}

/** Returns the same day of another month, or its last day when the month is shorter. */
export function plusMonths(day: Day, months: number): Day {
  const last = plusDays(firstOfMonth(day, months + 1), -1);
  const same = `${last.slice(0, 8)}${day.slice(8)}`;
  return same < last ? same : last;
}

/** 0 is Sunday. */
export const weekdayOf = (day: Day): number => dateOf(day).getUTCDay();

export const monthOf = (day: Day): number => dateOf(day).getUTCMonth();

export function daysOf({ since, until }: DayRange): Day[] {
  const days: Day[] = [];
  for (let day = since; day <= until; day = plusDays(day, 1)) days.push(day);
  return days;
}

/** Creating a format takes as long as a hundred uses of it. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatIn(timeZone: string): Intl.DateTimeFormat {
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat("en-CA", { timeZone });
  formats.set(timeZone, format);
  return format;
}

/** Returns the current day in the time zone; that of UTC when the zone is unknown. */
export function todayIn(zone: string): Day {
  try {
    return formatIn(zone).format();
  } catch {
    return formatIn("UTC").format();
  }
}
