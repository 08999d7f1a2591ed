import { dateOf, numberOf } from "../client/json-values.ts";

/** Values at or above this are milliseconds: as seconds they would be after the year 5000. */
const MIN_EPOCH_MS = 1e11;
const MIN_TIME_MS = Date.UTC(2000, 0, 1);
const MAX_TIME_MS = Date.UTC(9999, 0, 1);

/** Parses a time in seconds or milliseconds; undefined when it is not a plausible time. */
export function parseTimestamp(value: unknown): Date | undefined {
  const number = numberOf(typeof value === "bigint" ? Number(value) : value);
  if (number === undefined) return undefined;
  const date = dateOf(number >= MIN_EPOCH_MS ? number / 1000 : number);
  return date && date.getTime() >= MIN_TIME_MS && date.getTime() < MAX_TIME_MS ? date : undefined;
}

/** Formats a time for an event. */
export const toTimestamp = (date: Date | undefined): string | undefined => date?.toISOString();
