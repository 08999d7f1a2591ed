import { randomUUID } from "node:crypto";

/** Matches integers of 16 or more digits: JSON.parse rounds those beyond 2^53. Texts without one take the fast path. */
const MAY_ROUND = /(?:^|[:[,])\s*-?\d{16}/;

/**
 * Matches a string (kept unchanged) or a long integer that is not a key. An unterminated string matches up to the end of
 * the text: otherwise each quote in it would start another search, which takes quadratic time.
 */
const STRING_OR_LONG = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|(?<![\d.eE+-])-?[1-9]\d{15,}(?![\d.eE]|\s*:)/gs;

/** Random per process, so that no string in a request can be mistaken for a marker. */
const MARKER = `${randomUUID()}:`;

/** Like JSON.parse, but an integer beyond the safe range becomes a bigint. */
export function parseJson(text: string): unknown {
  if (!MAY_ROUND.test(text)) return JSON.parse(text);
  const marked = text.replace(STRING_OR_LONG, (found) => (found[0] === '"' ? found : `"${MARKER}${found}"`));
  return JSON.parse(marked, (_key, value) =>
    typeof value === "string" && value.startsWith(MARKER) ? toInteger(value.slice(MARKER.length)) : value,
  );
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

const MARKER_PATTERN = new RegExp(`"${MARKER}(-?\\d+|text)"`, "g");

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
  let nextText = 0;
  return marked.replace(MARKER_PATTERN, (_found, content: string) =>
    content === "text" ? (texts[nextText++] as string) : content,
  );
}
