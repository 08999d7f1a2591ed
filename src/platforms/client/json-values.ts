import { SECOND } from "../../runtime/durations.ts";
import type { Fields } from "./body.ts";

/** Platforms leave out what is not set, and sometimes send another type than they document: nothing here throws. */

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const asObject = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

/** The object that a JSON text holds. */
export function parseObject(text: string): Record<string, unknown> {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return {};
  }
}

export const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** A string, or a number as the platform wrote it: ids come as both. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === "string"
    ? value
    : typeof value === "number" || typeof value === "bigint"
      ? String(value)
      : undefined;

/** The texts of a list; what is none is left out. */
export const textsOf = (value: unknown): string[] =>
  asList(value)
    .map(textOf)
    .filter((text) => text !== undefined);

export function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** In seconds; what lies beyond is a mistake, and may be more than a database can hold. */
const [MIN_EPOCH_SECONDS, MAX_EPOCH_SECONDS] = [0, Date.UTC(9999, 0) / SECOND];

/** Of seconds since 1970; undefined for what is no time. */
export function dateOf(seconds: unknown): Date | undefined {
  const number = numberOf(seconds);
  const isTime = number !== undefined && number >= MIN_EPOCH_SECONDS && number <= MAX_EPOCH_SECONDS;
  return isTime ? new Date(number * SECOND) : undefined;
}

/** What a table of ours has under a name of theirs, which may be `constructor`. */
export const lookUp = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/** Without the fields that are undefined or null: what is not set is absent. */
export const omitNullish = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
