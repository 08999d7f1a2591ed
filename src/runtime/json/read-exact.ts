import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  isSpace,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from "./json-characters.ts";
import { endOfLiteral, endOfString } from "./json-tokens.ts";

/** Longer integers are rejected: converting a bigint from and to digits takes more than linear time. */
export const MAX_NUMBER_CHARS = 100;

/**
 * Reads a valid JSON text like JSON.parse, but an integer beyond the safe range becomes a bigint. Throws a RangeError for
 * an integer of more than MAX_NUMBER_CHARS.
 */
export const readExact = (text: string): unknown => new ExactReader(text).value();

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
