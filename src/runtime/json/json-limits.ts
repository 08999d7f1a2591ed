import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isSpace,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from "./json.ts";

export interface JsonLimits {
  /** Levels of arrays and objects; the outermost one counts. */
  maxDepth: number;
  /** Values of any kind; arrays and objects count. */
  maxValues: number;
  /** Characters of a number, as written. */
  maxNumberChars?: number | undefined;
  /** Bytes of each field of the outermost object, as written. */
  maxFieldBytes?: number | undefined;
}

export type ExceededLimit = { limit: "depth" | "values" | "number" } | { limit: "field"; name: string };

/**
 * Returns the first limit that a JSON text exceeds, in one pass over its bytes and without building any value. A text
 * that is not JSON may pass: the parser rejects it later, at a cost that these limits bound.
 */
export function findExceededLimit(bytes: Buffer, limits: JsonLimits): ExceededLimit | undefined {
  const { maxDepth, maxValues } = limits;
  const { maxNumberChars = Number.POSITIVE_INFINITY, maxFieldBytes = Number.POSITIVE_INFINITY } = limits;
  let depth = 0;
  let values = 1;
  let isContainerEmpty = false;
  let [nameStart, nameEnd, fieldStart] = [0, 0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at] as number;
    if (isSpace(code)) continue;
    const isClosing = code === CLOSE_ARRAY || code === CLOSE_OBJECT;
    // A container with content has one value more than commas.
    if (isContainerEmpty && !isClosing) values += 1;
    isContainerEmpty = false;
    if (depth === 1 && (isClosing || code === COMMA) && fieldStart > 0) {
      if (at - fieldStart > maxFieldBytes) return { limit: "field", name: textOf(bytes, nameStart, nameEnd) };
      fieldStart = 0;
    }
    if (code === QUOTE) {
      const end = endOfString(bytes, at);
      if (depth === 1 && fieldStart === 0) [nameStart, nameEnd] = [at, end];
      at = end - 1;
    } else if (code === COMMA) values += 1;
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      depth += 1;
      isContainerEmpty = true;
      if (depth > maxDepth) return { limit: "depth" };
    } else if (isClosing) depth -= 1;
    else if (startsNumber(code)) {
      const end = endOfNumber(bytes, at);
      if (end - at > maxNumberChars) return { limit: "number" };
      at = end - 1;
    } else if (code === COLON && depth === 1 && fieldStart === 0) fieldStart = at + 1;
    if (values > maxValues) return { limit: "values" };
  }
  return undefined;
}

/** Up to this length a loop finds the end of a string faster than `indexOf`, beyond it many times slower. */
const SHORT_STRING_BYTES = 32;

/** Returns the index after the closing quote of the string that starts at `start`. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  const shortEnd = Math.min(at + SHORT_STRING_BYTES, bytes.length);
  while (at < shortEnd && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  if (at < shortEnd) return at + 1;
  let quote = bytes.indexOf(QUOTE, at);
  while (quote !== -1 && isEscaped(bytes, at, quote)) quote = bytes.indexOf(QUOTE, quote + 1);
  return quote === -1 ? bytes.length : quote + 1;
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const [MINUS, PLUS, POINT, LOWER_E, UPPER_E] = [0x2d, 0x2b, 0x2e, 0x65, 0x45];

const startsNumber = (code: number): boolean => isDigit(code) || code === MINUS;

/** True for every character of a number after its first one. */
const continuesNumber = (code: number): boolean =>
  isDigit(code) || code === POINT || code === LOWER_E || code === UPPER_E || code === PLUS || code === MINUS;

/** Returns the index after the number that starts at `start`. */
function endOfNumber(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && continuesNumber(bytes[at] as number)) at++;
  return at;
}

/** True after an odd number of backslashes; the first one is not before `start`. */
function isEscaped(bytes: Buffer, start: number, at: number): boolean {
  let first = at;
  while (first > start && bytes[first - 1] === BACKSLASH) first--;
  return (at - first) % 2 === 1;
}

const MAX_NAME_BYTES = 100;

/** The field's name without its quotes, shortened. */
const textOf = (bytes: Buffer, start: number, end: number): string =>
  bytes.toString("utf8", start + 1, Math.min(end - 1, start + 1 + MAX_NAME_BYTES));
