/** A value in a JSON text: it can be taken apart and cut out as it was written, without reading what is inside. */
export interface JsonSource {
  /** Its own text. */
  readonly text: string;
  /** A field of an object; undefined where there is none. Of a name that stands twice the last one counts. */
  field(name: string): JsonSource | undefined;
  /** The items of an array; none of anything else. */
  items(): JsonSource[];
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

interface JsonDocument {
  text: string;
  /** Where each opened array or object closes, by where it opens. */
  closings: Int32Array;
}

interface Child {
  name: string;
  start: number;
  end: number;
}

/** Throws a SyntaxError where the text is not JSON. However deep it is nested, nothing here recurses. */
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

/** Past the closing quote of the string that opens here. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at + 1;
  }
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
