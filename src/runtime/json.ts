import { randomUUID } from "node:crypto";

/** A bare integer of 16 or more digits may be beyond 2^53, where JSON.parse rounds. A cheap look decides who must read it. */
const MAY_ROUND = /(?:^|[:[,])\s*-?\d{16}/;

/**
 * A string, which is left as it is, or a long bare integer that is no key. A string that does not end counts to the end of
 * the text, or it would be looked for again from each quote in it.
 */
const STRING_OR_LONG = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|(?<![\d.eE+-])-?[1-9]\d{15,}(?![\d.eE]|\s*:)/gs;

/** Nobody outside can know it, so no string of theirs is taken for one of our marks. */
const MARK = `${randomUUID()}:`;

/** JSON.parse, except that an integer which a number cannot hold becomes a bigint. */
export function parseJson(text: string): unknown {
  if (!MAY_ROUND.test(text)) return JSON.parse(text);
  const marked = text.replace(STRING_OR_LONG, (found) => (found[0] === '"' ? found : `"${MARK}${found}"`));
  return JSON.parse(marked, (_key, value) =>
    typeof value === "string" && value.startsWith(MARK) ? toInteger(value.slice(MARK.length)) : value,
  );
}

function toInteger(digits: string): number | bigint {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}

const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");

/** JSON.stringify, except that a bigint becomes a bare integer. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof TypeError) return withBareIntegers(value); // it refuses bigints
    throw error;
  }
}

const withBareIntegers = (value: unknown): string =>
  JSON.stringify(value, (_key, inner) => (typeof inner === "bigint" ? `${MARK}${inner}` : inner)).replace(
    MARKED,
    "$1",
  );
