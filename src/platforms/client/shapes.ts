import type { Fields } from "./body.ts";

/** Platforms leave out what is not set, and sometimes send another type than they document: nothing here throws. */

export const asObject = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

export const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** A string, or a number as the platform wrote it: ids come as both. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === "string"
    ? value
    : typeof value === "number" || typeof value === "bigint"
      ? String(value)
      : undefined;

export const numberOf = (value: unknown): number | undefined =>
  typeof value === "number" ? value : typeof value === "string" && value !== "" ? Number(value) : undefined;

/** Without the fields that are undefined. */
export const present = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
