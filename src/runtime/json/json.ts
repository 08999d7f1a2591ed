import { readExact } from "./read-exact.ts";

/**
 * Matches integers of 16 or more digits: JSON.parse rounds those beyond 2^53. Eight digits are written out, because V8
 * then skips most characters of a text.
 */
const MAY_ROUND = /(?:^|[:[,\s-])\d\d\d\d\d\d\d\d\d{8}/;

/** True when the text has an integer that JSON.parse could round, or something that looks like one. */
export const mayRound = (text: string): boolean => MAY_ROUND.test(text);

/** Like JSON.parse, but an integer beyond the safe range becomes a bigint. Throws a RangeError if it is too long. */
export function parseJson(text: string): unknown {
  const rounded = JSON.parse(text); // always: it rejects what is not JSON
  return mayRound(text) ? readExact(text) : rounded;
}

/** Undefined for anything that is not JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** JSON text that stringifyJson inserts unchanged. It is never parsed, so depth and long integers are preserved. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Returns a bigint so that JSON.stringify throws, which makes stringifyJson write the value itself. */
  toJSON(): bigint {
    return 0n;
  }
}

/** Like JSON.stringify, but a bigint becomes an integer and a JsonText is inserted unchanged. */
export function stringifyJson(value: unknown): string {
  // Found before JSON.stringify fails: an error with its stack costs more than the text.
  if (hasJsonText(value)) return writeJson(value);
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return writeJson(value);
  }
}

/** True for an object with a JsonText as a field; deeper ones are not searched. */
function hasJsonText(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  for (const name in value) if ((value as Record<string, unknown>)[name] instanceof JsonText) return true;
  return false;
}

function writeJson(value: unknown): string {
  const pieces: string[] = [];
  writeValue(value, pieces);
  return pieces.join("");
}

/** Returns false for a value that JSON cannot express, such as undefined; it is then not written. */
function writeValue(value: unknown, pieces: string[]): boolean {
  if (typeof value === "bigint") pieces.push(String(value));
  else if (value instanceof JsonText) pieces.push(value.text);
  else if (Array.isArray(value)) writeArray(value, pieces);
  else if (typeof value !== "object" || value === null) return writeScalar(value, pieces);
  else if ("toJSON" in value && typeof value.toJSON === "function") return writeValue(value.toJSON(), pieces);
  else writeObject(value, pieces);
  return true;
}

function writeScalar(value: unknown, pieces: string[]): boolean {
  const text: string | undefined = JSON.stringify(value);
  if (text !== undefined) pieces.push(text);
  return text !== undefined;
}

function writeArray(items: readonly unknown[], pieces: string[]): void {
  let separator = "[";
  for (const item of items) {
    pieces.push(separator);
    if (!writeValue(item, pieces)) pieces.push("null");
    separator = ",";
  }
  pieces.push(items.length === 0 ? "[]" : "]");
}

function writeObject(fields: object, pieces: string[]): void {
  let separator = "{";
  for (const [name, value] of Object.entries(fields)) {
    pieces.push(`${separator}${JSON.stringify(name)}:`);
    if (writeValue(value, pieces)) separator = ",";
    else pieces.pop();
  }
  pieces.push(separator === "{" ? "{}" : "}");
}
