import { parseJson, stringifyJson } from "../../runtime/json/json.ts";
import { invalidParameter } from "./graph-error.ts";

const DIGITS = /^-?\d+$/;

/** Converts an integer too long for a JavaScript number, so that it is serialised as bare digits. */
export function toBigInt(digits: string): bigint {
  if (!DIGITS.test(digits)) throw new Error(`not an integer: ${digits}`);
  return BigInt(digits);
}

const MAX_JSON_DEPTH = 100;

/**
 * Parses JSON without loss: integers too long for a JavaScript number become bigints. Rejects values nested
 * so deeply that serialising them again would fail.
 */
export function fromJson(text: string): unknown {
  const value = parseJson(text);
  if (isDeeperThan(value, MAX_JSON_DEPTH))
    throw invalidParameter(`JSON must be nested at most ${MAX_JSON_DEPTH} levels deep`);
  return value;
}

const isDeeperThan = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1)));

export { stringifyJson as toJson };

/** Escapes non-ASCII characters like the platform, so that only the raw bytes match the signature. */
export const toAsciiJson = (value: unknown): string => escapeNonAscii(stringifyJson(value));

/** Escapes the non-ASCII characters of a JSON text; its value stays the same. */
export const escapeNonAscii = (json: string): string =>
  json.replaceAll(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
