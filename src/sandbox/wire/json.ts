import { parseJson, stringifyJson } from "../../runtime/json/json.ts";
import { invalidParameter } from "./graph-error.ts";

const DIGITS = /^-?\d+$/;

/** An integer too long for a JavaScript number, written as the platform writes it: bare digits. */
export function toBigInt(digits: string): bigint {
  if (!DIGITS.test(digits)) throw new Error(`not an integer: ${digits}`);
  return BigInt(digits);
}

const MAX_JSON_DEPTH = 100;

/**
 * JSON read and written without loss: an integer too long for a JavaScript number is a bigint and comes back as it came.
 * What is nested so deeply that it could be read but not written again is refused before anybody keeps it.
 */
export function fromJson(text: string): unknown {
  const value = parseJson(text);
  if (isDeeperThan(value, MAX_JSON_DEPTH))
    throw invalidParameter(`JSON may be nested ${MAX_JSON_DEPTH} levels deep`);
  return value;
}

const isDeeperThan = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1)));

export { stringifyJson as toJson };

/** As the platform sends webhooks: whatever is not ASCII is escaped, so that only the raw bytes verify. */
export const toAsciiJson = (value: unknown): string => escapeNonAscii(stringifyJson(value));

/** JSON text with everything in it escaped that is not ASCII; it means the same. */
export const escapeNonAscii = (json: string): string =>
  json.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
