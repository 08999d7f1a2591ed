import { SECOND } from "../../runtime/durations.ts";
import { tryParseJson } from "../../runtime/json/json.ts";
import { findExceededLimit, type JsonLimits } from "../../runtime/json/json-limits.ts";
import type { Fields } from "./body.ts";

/** Readers that never throw: platforms omit unset values and sometimes send a type they do not document. */

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const asObject = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

/** Undefined for an object without fields and for any other value. */
export const nonEmptyObject = (value: unknown): Record<string, unknown> | undefined =>
  isObject(value) && Object.keys(value).length > 0 ? value : undefined;

/** True for a list with at least one object and nothing else. */
export const isListOfObjects = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(isObject);

/** 500 insights rows have at most some hundred thousand values; ids have 20 digits. */
const ANSWER_LIMITS: JsonLimits = { maxDepth: 100, maxValues: 500_000, maxNumberChars: 40 };

/** False for a text that would take long or much memory to parse. */
const isParsable = (text: string): boolean =>
  findExceededLimit(Buffer.from(text), ANSWER_LIMITS) === undefined;

/** Parses the text of an answer; undefined when it is not JSON or exceeds the limits. */
export const parseAnswer = (text: string): unknown => (isParsable(text) ? tryParseJson(text) : undefined);

/** Parses a JSON object; returns an empty object for anything else and for one that exceeds the limits. */
export function parseObject(text: string): Record<string, unknown> {
  try {
    return isParsable(text) ? asObject(JSON.parse(text)) : {};
  } catch {
    return {};
  }
}

export const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Returns strings and numbers as text, because ids come as both. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === "string"
    ? value
    : typeof value === "number" || typeof value === "bigint"
      ? String(value)
      : undefined;

/** Returns the texts in a list and skips other items. */
export const textsOf = (value: unknown): string[] =>
  asList(value)
    .map(textOf)
    .filter((text) => text !== undefined);

export function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** Timestamps outside this range are errors and may exceed what Postgres can store. */
const [MIN_EPOCH_SECONDS, MAX_EPOCH_SECONDS] = [0, Date.UTC(9999, 0) / SECOND];

/** Converts seconds since 1970; undefined when the value is not a valid time. */
export function dateOf(seconds: unknown): Date | undefined {
  const number = numberOf(seconds);
  const isTime = number !== undefined && number >= MIN_EPOCH_SECONDS && number <= MAX_EPOCH_SECONDS;
  return isTime ? new Date(number * SECOND) : undefined;
}

/** Looks up an own property only, because a platform may send a name such as `constructor`. */
export const lookUp = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/** Removes undefined and null fields. */
export function omitNullish(fields: Fields): Record<string, unknown> {
  // A loop, because it runs several times for each update of a webhook; entries of pairs take three times as long.
  const kept: Record<string, unknown> = {};
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (value === undefined || value === null) continue;
    if (name === "__proto__") return omitNullishEntries(fields);
    kept[name] = value;
  }
  return kept;
}

/** Also creates a field named `__proto__`, to which nothing can be assigned. */
const omitNullishEntries = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));

/** Removes the named fields. */
export const omitFields = (fields: Fields, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
