import { invalidParameter } from "./graph-error.ts";

const PLAIN_TYPES: readonly string[] = ["string", "number", "bigint", "boolean"];

/** A caller's value as text. `String` alone would call an object's own `toString`, which the caller may have written as a number. */
export function plainText(value: unknown): string {
  if (!PLAIN_TYPES.includes(typeof value)) throw invalidParameter("A string or a number is expected here");
  return String(value);
}
