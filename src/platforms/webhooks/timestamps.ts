import { dateOf, numberOf } from "../client/json-values.ts";

/** More seconds than any of our times has, fewer milliseconds than any has. */
const MIN_EPOCH_MS = 1e11;
const MIN_TIME_MS = Date.UTC(2000, 0, 1);
const MAX_TIME_MS = Date.UTC(9999, 0, 1);

/** A platform's time, which may be in seconds or milliseconds; undefined for what is none. */
export function parseTimestamp(value: unknown): Date | undefined {
  const number = numberOf(typeof value === "bigint" ? Number(value) : value);
  if (number === undefined) return undefined;
  const date = dateOf(number >= MIN_EPOCH_MS ? number / 1000 : number);
  return date && date.getTime() >= MIN_TIME_MS && date.getTime() < MAX_TIME_MS ? date : undefined;
}

/** The same as it stands in an event. */
export const toTimestamp = (date: Date | undefined): string | undefined => date?.toISOString();
