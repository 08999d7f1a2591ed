/** A value inside a JSON text. Its fields and items are cut out as written, without parsing their content. */
export interface JsonSource {
  /** The source text of this value. */
  readonly text: string;
  /** A field of an object, or undefined. When a name occurs twice, the last occurrence counts. */
  field(name: string): JsonSource | undefined;
  /** The items of an array; empty for any other value. */
  items(): JsonSource[];
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

interface JsonDocument {
  text: string;
  /** Index of the closing bracket of each array and object, by the index of its opening bracket. */
  closings: Int32Array;
}

interface Child {
  name: string;
  start: number;
  end: number;
}

/** Throws a SyntaxError when the text is not JSON. Does not recurse, so deep nesting cannot exhaust the stack. */
export function openJson(text: string): JsonSource {
  JSON.parse(text);
  const start = skipSpace(text, 0);
  return sourceAt({ text, closings: indexClosings(text) }, start, endOfText(text));
}

function sourceAt(document: JsonDocument, start: number, end: number): JsonSource {
  return {
    get text() {
      return document.text.slice(start, end);
    },
    field(name) {
      if (document.text.charCodeAt(start) !== OPEN_OBJECT) return undefined;
      const found = childrenOf(document, start).findLast((child) => child.name === name);
      return found && sourceAt(document, found.start, found.end);
    },
    items() {
      if (document.text.charCodeAt(start) !== OPEN_ARRAY) return [];
      return childrenOf(document, start).map((child) => sourceAt(document, child.start, child.end));
    },
  };
}

function indexClosings(text: string): Int32Array {
  const closings = new Int32Array(text.length);
  const opened: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at) - 1;
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) opened.push(at);
    else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) closings[opened.pop() as number] = at;
  }
  return closings;
}

function childrenOf(document: JsonDocument, start: number): Child[] {
  const { text, closings } = document;
  const [isObject, close] = [text.charCodeAt(start) === OPEN_OBJECT, closings[start] as number];
  const children: Child[] = [];
  let at = skipSpace(text, start + 1);
  while (at < close) {
    let name = "";
    if (isObject) {
      const nameEnd = endOfString(text, at);
      name = JSON.parse(text.slice(at, nameEnd));
      at = skipSpace(text, skipSpace(text, nameEnd) + 1); // past the colon
    }
    const end = endOfValue(document, at);
    children.push({ name, start: at, end });
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return children;
}

function endOfValue({ text, closings }: JsonDocument, start: number): number {
  const code = text.charCodeAt(start);
  if (code === QUOTE) return endOfString(text, start);
  if (code === OPEN_ARRAY || code === OPEN_OBJECT) return (closings[start] as number) + 1;
  let at = start;
  while (at < text.length && !endsLiteral(text.charCodeAt(at))) at++;
  return at;
}

const endsLiteral = (code: number) =>
  code === COMMA || code === CLOSE_ARRAY || code === CLOSE_OBJECT || isSpace(code);

/** Returns the index after the closing quote of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
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

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

function skipSpace(text: string, start: number): number {
  let at = start;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

function endOfText(text: string): number {
  let end = text.length;
  while (isSpace(text.charCodeAt(end - 1))) end--;
  return end;
}
