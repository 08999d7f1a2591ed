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

/**
 * What follows in a JSON text.
 * - VALUE: a value.
 * - ITEM: an array was opened; its first item or its end.
 * - NAME: the name of a field.
 * - FIELD: an object was opened; its first name or its end.
 * - SEPARATOR: the colon after a name.
 * - REST: a value has ended; a comma or the end of its container, or of the text.
 */
const [VALUE, ITEM, NAME, FIELD, SEPARATOR, REST] = [0, 1, 2, 3, 4, 5];

const notJson = () => new SyntaxError("The text is not JSON");

/**
 * Throws a SyntaxError when the text is not JSON, like JSON.parse. Builds no values: arrays and objects that are nested
 * hundreds of thousands of levels deep take several times as long, also to collect as garbage.
 */
export function checkJson(text: string): void {
  const outer: number[] = [];
  let container = 0; // the opening bracket of the innermost one
  let state = VALUE;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isSpace(code)) continue;
    if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (state !== VALUE && state !== ITEM) throw notJson();
      outer.push(container);
      container = code;
      state = code === OPEN_ARRAY ? ITEM : FIELD;
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
      if (container !== (code === CLOSE_ARRAY ? OPEN_ARRAY : OPEN_OBJECT)) throw notJson();
      if (state !== REST && state !== ITEM && state !== FIELD) throw notJson();
      container = outer.pop() as number;
      state = REST;
    } else if (code === COMMA) {
      if (state !== REST || container === 0) throw notJson();
      state = container === OPEN_ARRAY ? VALUE : NAME;
    } else if (code === COLON) {
      if (state !== SEPARATOR) throw notJson();
      state = VALUE;
    } else {
      const isName = state === NAME || state === FIELD;
      if (isName ? code !== QUOTE : state !== VALUE && state !== ITEM) throw notJson();
      state = isName ? SEPARATOR : REST;
      at = (code === QUOTE ? endOfString(text, at) : endOfMatch(LITERAL, text, at)) - 1;
    }
  }
  if (state !== REST || container !== 0) throw notJson();
}

const FIRST_PRINTABLE = 0x20;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** Returns the index after the closing quote of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at)) {
    // Also false for NaN, after the end of the text.
    if (!(code >= FIRST_PRINTABLE)) throw notJson();
    at = code === BACKSLASH ? endOfMatch(ESCAPE, text, at) : at + 1;
  }
  return at + 1;
}

const LITERAL = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

function endOfMatch(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  if (!pattern.test(text)) throw notJson();
  return pattern.lastIndex;
}
