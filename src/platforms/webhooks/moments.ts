import { dateOf, numberOf } from "../client/shapes.ts";

/** More seconds than any of our times has, fewer milliseconds than any has. */
const MILLISECONDS = 1e11;
const EARLIEST = Date.UTC(2000, 0, 1);
const LATEST = Date.UTC(9999, 0, 1);

/** A platform's time, which may be in seconds or milliseconds; undefined for what is none. */
export function momentOf(value: unknown): Date | undefined {
  const number = numberOf(typeof value === "bigint" ? Number(value) : value);
  if (number === undefined) return undefined;
  const date = dateOf(number >= MILLISECONDS ? number / 1000 : number);
  return date && date.getTime() >= EARLIEST && date.getTime() < LATEST ? date : undefined;
}

/** The same as it stands in an event. */
export const toMoment = (date: Date | undefined): string | undefined => date?.toISOString();
