import { randomUUID } from "node:crypto";

/** A bare integer of 16 or more digits may be beyond 2^53, where JSON.parse rounds. A cheap look decides who must read it. */
const MAY_ROUND = /(?:^|[:[,])\s*-?\d{16}/;

/**
 * A string, which is left as it is, or a long bare integer that is no key. A string that does not end counts to the end of
 * the text, or it would be looked for again from each quote in it.
 */
const STRING_OR_LONG = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|(?<![\d.eE+-])-?[1-9]\d{15,}(?![\d.eE]|\s*:)/gs;

/** Nobody outside can know it, so no string of theirs is taken for one of our marks. */
const MARKER = `${randomUUID()}:`;

/** JSON.parse, except that an integer which a number cannot hold becomes a bigint. */
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

/** Text that is JSON already and stands in a value as it is: never parsed, however deep it is or long its integers. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Makes JSON.stringify refuse it, as it refuses every bigint. */
  toJSON(): bigint {
    return 0n;
  }
}

const MARKER_PATTERN = new RegExp(`"${MARKER}(-?\\d+|text)"`, "g");

/** JSON.stringify, except that a bigint becomes a bare integer and a JsonText what it says. */
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
