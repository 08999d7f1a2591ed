import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COMMA, isSpace } from "./json-characters.ts";

/** The ends of the tokens in a valid JSON text. */

/** Returns the index after the closing quote of the string that starts at `start`. */
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

/** Returns the index after the number, `true`, `false` or `null` that starts at `start`. */
export function endOfLiteral(text: string, start: number): number {
  let at = start;
  while (at < text.length && !endsLiteral(text.charCodeAt(at))) at++;
  return at;
}

const endsLiteral = (code: number): boolean =>
  code === COMMA || code === CLOSE_ARRAY || code === CLOSE_OBJECT || isSpace(code);
