import { randomUUID } from "node:crypto";

/** Matches integers of 16 or more digits: JSON.parse rounds those beyond 2^53. Texts without one take the fast path. */
const MAY_ROUND = /(?:^|[:[,])\s*-?\d{16}/;

/**
 * Matches a string (kept unchanged) or a long number. An unterminated string matches up to the end of the text: otherwise
 * each quote in it would start another search, which takes quadratic time.
 */
const STRING_OR_LONG = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|[-+.\deE]{16,}/gs;
const LONG_INTEGER = /^-?[1-9]\d{15,}$/;
const KEY_END = /\s*:/y;

/** Random per process, so that no string in a request can be mistaken for a marker. */
const MARKER = `${randomUUID()}:`;

/** Like JSON.parse, but an integer beyond the safe range becomes a bigint. */
export function parseJson(text: string): unknown {
  if (!MAY_ROUND.test(text)) return JSON.parse(text);
  const marked = text.replace(STRING_OR_LONG, (found, start: number) =>
    isLongInteger(found) && !isKey(text, start + found.length) ? `"${MARKER}${found}"` : found,
  );
  return JSON.parse(marked, (_key, value) =>
    typeof value === "string" && value.startsWith(MARKER) ? toInteger(value.slice(MARKER.length)) : value,
  );
}

const isLongInteger = (found: string) => found[0] !== '"' && LONG_INTEGER.test(found);

/** A number is not a valid key; as a string it would become one. */
function isKey(text: string, end: number): boolean {
  KEY_END.lastIndex = end;
  return KEY_END.test(text);
}

function toInteger(digits: string): number | bigint {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}

/** JSON text that stringifyJson inserts unchanged. It is never parsed, so depth and long integers are preserved. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Returns a bigint so that JSON.stringify throws, which makes stringifyJson use markers. */
  toJSON(): bigint {
    return 0n;
  }
}

/** Like JSON.stringify, but a bigint becomes an integer and a JsonText is inserted unchanged. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof TypeError) return stringifyWithMarkers(value);
    throw error;
  }
}

function stringifyWithMarkers(value: unknown): string {
  const texts: string[] = [];
  const marked = JSON.stringify(value, function (this: Record<string, unknown>, name, inner) {
    const original = this[name]; // before its toJSON
    if (original instanceof JsonText) {
      texts.push(original.text);
      return `${MARKER}text`;
    }
    return typeof inner === "bigint" ? `${MARKER}${inner}` : inner;
  });
  const [before, ...sections] = marked.split(`"${MARKER}`);
  let nextText = 0;
  const filled = sections.map((section) => {
    const [content = ""] = section.split('"', 1);
    return (content === "text" ? (texts[nextText++] as string) : content) + section.slice(content.length + 1);
  });
  return [before, ...filled].join("");
}
