import { invalidParameter } from "./graph-error.ts";

const PLAIN_TYPES: readonly string[] = ["string", "number", "bigint", "boolean"];

/** Converts a value to text. Rejects objects: `String` throws when their `toString` is not a function. */
export function plainText(value: unknown): string {
  if (!PLAIN_TYPES.includes(typeof value)) throw invalidParameter("A string or a number is expected here");
  return String(value);
}
