import { asObject, dateOf, numberOf } from "../client/json-values.ts";

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

/** Fields in which the platforms report when an update happened. */
const TIME_FIELDS = ["timestamp", "time", "created_time"];
/** Deeper times belong to older content, such as the messages of a history. */
const MAX_SEARCH_DEPTH = 3;
const MAX_SEARCHED_PER_LEVEL = 100;

/** Finds the time that is nearest to the top of a value. */
export function findTimestamp(value: unknown): Date | undefined {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= MAX_SEARCH_DEPTH; depth++) {
    for (const item of level) {
      const fields = asObject(item);
      const found = TIME_FIELDS.map((name) => parseTimestamp(fields[name])).find(Boolean);
      if (found) return found;
    }
    level = level.flatMap(partsOf).slice(0, MAX_SEARCHED_PER_LEVEL);
  }
  return undefined;
}

/** The objects and lists in a value. */
const partsOf = (value: unknown): unknown[] =>
  Object.values(value ?? {})
    .slice(0, MAX_SEARCHED_PER_LEVEL)
    .filter((part) => typeof part === "object");

/** Formats a time for an event. */
export const toTimestamp = (date: Date | undefined): string | undefined => date?.toISOString();
