import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfLiteral,
  endOfString,
  isSpace,
  mayRound,
  OPEN_ARRAY,
  OPEN_OBJECT,
  parseJson,
  QUOTE,
} from "./json.ts";

/** A value inside a JSON text. Its fields and items are cut out as written. */
export interface JsonSource {
  /** The source text of this value. */
  readonly text: string;
  /**
   * The same as parseJson of the text, usually without parsing it again. Callers must not change it. Throws a RangeError
   * when the value is opaque or contains an opaque value.
   */
  parse(): unknown;
  /** The parsed value of a field; undefined for none. */
  parseField(name: string): unknown;
  /** A field of an object, or undefined. When a name occurs twice, the last occurrence counts. */
  field(name: string): JsonSource | undefined;
  /** The items of an array; empty for any other value. */
  items(): JsonSource[];
}

/** An array or object at `level` (the outermost has level 1) that itself has more levels than `maxDepth` is opaque. */
export interface OpaqueLimits {
  level: number;
  maxDepth: number;
}

interface Range {
  start: number;
  end: number;
}

interface JsonDocument {
  text: string;
  /** False when JSON.parse may have rounded an integer or a value is opaque: values are then parsed again. */
  isExact: boolean;
  /** Index of the closing bracket of each array and object, by the index of its opening bracket. */
  closings: Int32Array;
  /** Values that are only available as text: values of this depth would occupy the event loop. */
  opaque: readonly Range[];
}

const NO_LIMITS: OpaqueLimits = { level: 1, maxDepth: Number.POSITIVE_INFINITY };

/** Throws a SyntaxError when the text is not JSON. Does not recurse, so deep nesting cannot exhaust the stack. */
export function openJson(text: string, limits = NO_LIMITS): JsonSource {
  const { closings, opaque } = indexContainers(text, limits);
  const parsedText = replaceByNull(text, opaque);
  const value: unknown = JSON.parse(parsedText);
  for (const { start, end } of opaque) checkJson(text.slice(start, end));
  const isExact = opaque.length === 0 && !mayRound(text);
  const document = { text, isExact, closings, opaque };
  return new DocumentPart(document, { start: skipSpace(text, 0), end: endOfText(text), value });
}

/** Where a value stands in the text, and the value itself. */
interface Part extends Range {
  value: unknown;
}

/** A class, because a webhook may have half a million values: objects with closures take several times as long. */
class DocumentPart implements JsonSource {
  readonly #document: JsonDocument;
  readonly #start: number;
  readonly #end: number;
  /** Rounded, and null in place of opaque values, where the document is not exact. */
  readonly #value: unknown;

  constructor(document: JsonDocument, { start, end, value }: Part) {
    this.#document = document;
    this.#start = start;
    this.#end = end;
    this.#value = value;
  }

  get text(): string {
    return this.#document.text.slice(this.#start, this.#end);
  }

  parse(): unknown {
    if (this.#document.isExact) return this.#value;
    if (this.#document.opaque.some(({ start, end }) => start >= this.#start && end <= this.#end))
      throw new RangeError("a value has too many levels");
    return parseJson(this.text);
  }

  parseField(name: string): unknown {
    return this.#document.isExact ? ownField(this.#value, name) : this.field(name)?.parse();
  }

  field(name: string): JsonSource | undefined {
    const { text, closings } = this.#document;
    const value = ownField(this.#value, name);
    if (value === undefined) return undefined;
    const close = closings[this.#start] as number;
    let found: JsonSource | undefined;
    let at = skipSpace(text, this.#start + 1);
    while (at < close) {
      const nameEnd = endOfString(text, at);
      const isWanted = isName(text.slice(at + 1, nameEnd - 1), name);
      const start = skipSpace(text, skipSpace(text, nameEnd) + 1); // past the colon
      const end = endOfValue(this.#document, start);
      if (isWanted) found = new DocumentPart(this.#document, { start, end, value });
      at = skipComma(text, end);
    }
    return found;
  }

  items(): JsonSource[] {
    const { text, closings } = this.#document;
    const values = this.#value;
    if (!Array.isArray(values)) return [];
    const close = closings[this.#start] as number;
    const items: JsonSource[] = [];
    let at = skipSpace(text, this.#start + 1);
    while (at < close) {
      const end = endOfValue(this.#document, at);
      items.push(new DocumentPart(this.#document, { start: at, end, value: values[items.length] }));
      at = skipComma(text, end);
    }
    return items;
  }
}

/** Undefined for an array and for any other value that is not an object. */
const ownField = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;

/** Compares a name as written, which may contain escapes. */
const isName = (written: string, name: string): boolean =>
  written === name || (written.includes("\\") && JSON.parse(`"${written}"`) === name);

/** Finds where containers end and which are opaque. The text may not be JSON: then the result is meaningless. */
function indexContainers(text: string, { level, maxDepth }: OpaqueLimits) {
  const closings = new Int32Array(text.length);
  const opaque: Range[] = [];
  const opened: number[] = [];
  let deepest = 0; // level in the last container of the level that is limited
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfClosedString(text, at) - 1;
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      opened.push(at);
      deepest = opened.length === level ? level : Math.max(deepest, opened.length);
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
      const isLimited = opened.length === level;
      const start = opened.pop() as number;
      closings[start] = at;
      if (isLimited && deepest - level >= maxDepth) opaque.push({ start, end: at + 1 });
    }
  }
  // JSON.parse would build all values of a deep text before it finds the end missing.
  if (opened.length > 0) throw new SyntaxError("A container is not closed");
  return { closings, opaque };
}

function endOfClosedString(text: string, start: number): number {
  const end = endOfString(text, start);
  if (end === 0) throw new SyntaxError("A string is not closed");
  return end;
}

function replaceByNull(text: string, ranges: readonly Range[]): string {
  let [result, from] = ["", 0];
  for (const { start, end } of ranges) {
    result += `${text.slice(from, start)}null`;
    from = end;
  }
  return result + text.slice(from);
}

function endOfValue({ text, closings }: JsonDocument, start: number): number {
  const code = text.charCodeAt(start);
  if (code === QUOTE) return endOfString(text, start);
  if (code === OPEN_ARRAY || code === OPEN_OBJECT) return (closings[start] as number) + 1;
  return endOfLiteral(text, start);
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** Returns the start of the value or name after the one that ends at `end`. */
function skipComma(text: string, end: number): number {
  const at = skipSpace(text, end);
  return text.charCodeAt(at) === COMMA ? skipSpace(text, at + 1) : at;
}

function endOfText(text: string): number {
  let end = text.length;
  while (isSpace(text.charCodeAt(end - 1))) end--;
  return end;
}

/**
 * The states of the check: the part of the JSON text that must follow.
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
function checkJson(text: string): void {
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
      at = (code === QUOTE ? endOfCheckedString(text, at) : endOfMatch(LITERAL, text, at)) - 1;
    }
  }
  if (state !== REST || container !== 0) throw notJson();
}

const FIRST_PRINTABLE = 0x20;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** Returns the index after the closing quote of the string that starts at `start`. */
function endOfCheckedString(text: string, start: number): number {
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
