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

/** Longer integers are rejected: converting a bigint from and to digits takes more than linear time. */
export const MAX_NUMBER_CHARS = 100;

/**
 * Reads a valid JSON text like JSON.parse, but an integer beyond the safe range becomes a bigint. Throws a RangeError for
 * an integer of more than MAX_NUMBER_CHARS.
 */
const readExact = (text: string): unknown => new ExactReader(text).value();

/** Holds the position in the text. */
class ExactReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): unknown {
    switch (this.#next()) {
      case OPEN_OBJECT:
        return this.#object();
      case OPEN_ARRAY:
        return this.#array();
      case QUOTE:
        return this.#string();
      default:
        return this.#literal();
    }
  }

  /** Skips white space and returns the next character. */
  #next(): number {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++;
    return this.#text.charCodeAt(this.#at);
  }

  #object(): Record<string, unknown> {
    const fields: Record<string, unknown> = {};
    this.#at++;
    while (this.#next() !== CLOSE_OBJECT) {
      const name = this.#string();
      this.#next();
      this.#at++; // past the colon
      setField(fields, name, this.value());
      if (this.#next() === COMMA) this.#at++;
    }
    this.#at++;
    return fields;
  }

  #array(): unknown[] {
    const items: unknown[] = [];
    this.#at++;
    while (this.#next() !== CLOSE_ARRAY) {
      items.push(this.value());
      if (this.#next() === COMMA) this.#at++;
    }
    this.#at++;
    return items;
  }

  #string(): string {
    const start = this.#at;
    this.#at = endOfString(this.#text, start);
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  #literal(): unknown {
    const start = this.#at;
    this.#at = endOfLiteral(this.#text, start);
    const literal = this.#text.slice(start, this.#at);
    return isLongInteger(literal) ? BigInt(literal) : JSON.parse(literal);
  }
}

/** A plain assignment to `__proto__` would set the prototype. */
function setField(fields: Record<string, unknown>, name: string, value: unknown): void {
  if (name === "__proto__")
    Object.defineProperty(fields, name, { value, configurable: true, enumerable: true, writable: true });
  else fields[name] = value;
}

const FRACTION_OR_EXPONENT = /[.eE]/;

/** The largest safe integer has 16 digits. */
const [MIN_LONG_CHARS, MAX_SAFE_CHARS] = [16, "-".length + 16];

function isLongInteger(literal: string): boolean {
  if (literal.length < MIN_LONG_CHARS || FRACTION_OR_EXPONENT.test(literal)) return false;
  if (literal.length > MAX_NUMBER_CHARS) throw new RangeError("an integer has too many digits");
  return literal.length > MAX_SAFE_CHARS || !Number.isSafeInteger(Number(literal));
}

/** Codes of the characters that structure a JSON text; the same as char codes and as UTF-8 bytes. */
export const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
export const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** True for white space between the values of a JSON text. */
export const isSpace = (code: number): boolean =>
  code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** Returns the index after the closing quote of the string that starts at `start`, in a valid JSON text. */
export function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote + 1;
}

/** True after an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first--;
  return (at - first) % 2 === 1;
}

/** Returns the index after the number, `true`, `false` or `null` that starts at `start`, in a valid JSON text. */
export function endOfLiteral(text: string, start: number): number {
  let at = start;
  while (at < text.length && !endsLiteral(text.charCodeAt(at))) at++;
  return at;
}

const endsLiteral = (code: number): boolean =>
  code === COMMA || code === CLOSE_ARRAY || code === CLOSE_OBJECT || isSpace(code);

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

/** A piece ends after the first value beyond this length. */
const PIECE_CHARACTERS = 10_000;

/**
 * JSON with object fields sorted by name, in pieces: equal values produce equal texts. Pieces let the caller pause
 * within a large value; they are not smaller, because a step of a generator costs more than a short value.
 */
export function* canonicalJson(value: unknown): Generator<string> {
  if (Array.isArray(value)) yield* canonicalArray(value);
  else if (isContainer(value)) yield* canonicalObject(value as Record<string, unknown>);
  else yield scalarText(value);
}

const isContainer = (value: unknown): boolean => typeof value === "object" && value !== null;

const scalarText = (value: unknown): string =>
  typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? "");

function* canonicalArray(items: readonly unknown[]): Generator<string> {
  let piece = "[";
  for (const [index, item] of items.entries()) {
    if (index > 0) piece += ",";
    if (isContainer(item) || piece.length > PIECE_CHARACTERS) {
      yield piece;
      piece = "";
    }
    if (isContainer(item)) yield* canonicalJson(item);
    else piece += scalarText(item);
  }
  yield `${piece}]`;
}

function* canonicalObject(fields: Record<string, unknown>): Generator<string> {
  let piece = "{";
  for (const [index, name] of Object.keys(fields).sort().entries()) {
    const value = fields[name];
    piece += `${index > 0 ? "," : ""}${JSON.stringify(name)}:`;
    if (isContainer(value) || piece.length > PIECE_CHARACTERS) {
      yield piece;
      piece = "";
    }
    if (isContainer(value)) yield* canonicalJson(value);
    else piece += scalarText(value);
  }
  yield `${piece}}`;
}
