const MAX_EXCERPT_BYTES = 1_024;

/** Space for a token with every character escaped twice: a token that begins within the excerpt must be found whole. */
const TOKEN_MARGIN_BYTES = 12 * 256;

/** Bytes of an answer that an excerpt is made from. */
export const EXCERPT_SOURCE_BYTES = MAX_EXCERPT_BYTES + TOKEN_MARGIN_BYTES;

/** A token of escapes may decode to a single letter: a shorter match of the decoded token is ordinary text. */
const MIN_TOKEN_CHARS = 16;

/** Returns the beginning of an answer as text that Postgres accepts. Redacts the token, which some receivers echo. */
export function excerptOf(bytes: Buffer, token: string | undefined): string | null {
  if (bytes.length === 0) return null;
  const source = decodeUtf8(bytes.subarray(0, EXCERPT_SOURCE_BYTES)).replaceAll("\u0000", "\ufffd");
  if (!token) return cut(source) || null;
  const spans = findToken(source, token);
  // Of a longer answer, omit the margin even when redaction makes room for it: a token may continue beyond it.
  const shown = bytes.length < EXCERPT_SOURCE_BYTES ? source : cut(source);
  return spans && (cut(redact(shown, spans)) || null);
}

const cut = (text: string): string =>
  text.length * 3 <= MAX_EXCERPT_BYTES ? text : decodeUtf8(Buffer.from(text).subarray(0, MAX_EXCERPT_BYTES));

interface Span {
  start: number;
  end: number;
}

/** Begins every escape of JSON, URLs and HTML. */
const ESCAPE_START = /[\\%&]/;

/** True when neither text contains an escape and the source does not contain the token: most answers. */
const isFreeOf = (source: string, token: string): boolean =>
  !ESCAPE_START.test(source) &&
  !ESCAPE_START.test(token) &&
  !source.toLowerCase().includes(token.toLowerCase());

/** Finds the token, escaped or not; null when the nesting of escapes could hide it. */
function findToken(source: string, token: string): Span[] | null {
  if (isFreeOf(source, token)) return [];
  const [sourcePasses, tokenPasses] = [decodeEscapes(source), decodeEscapes(token)];
  const [sourceDecoded, tokenDecoded] = [sourcePasses?.at(-1), tokenPasses?.at(-1)];
  if (!sourcePasses || !tokenPasses?.[0] || !sourceDecoded || !tokenDecoded) return null;
  const { text } = tokenPasses[0];
  // Characters next to the token may form an escape with it, and then the token is whole only before a later pass.
  const spans = sourcePasses.flatMap((pass) => findText(pass, text));
  // The token may itself contain escapes and be escaped in parts, and then it is found only when both are decoded.
  spans.push(...findText(sourceDecoded, tokenDecoded.text));
  const minChars = Math.min(token.length, MIN_TOKEN_CHARS);
  return spans.filter(({ start, end }) => end - start >= minChars).sort((a, b) => a.start - b.start);
}

function findText({ text, starts }: DecodedText, searched: string): Span[] {
  const spans: Span[] = [];
  for (let at = text.indexOf(searched); at >= 0; at = text.indexOf(searched, at + 1))
    spans.push({ start: starts[at] as number, end: starts[at + searched.length] as number });
  return spans;
}

/** Replaces the spans, which are sorted; `text` may end within the last one. */
function redact(text: string, spans: readonly Span[]): string {
  let [redacted, copied] = ["", 0];
  for (const { start, end } of spans) {
    if (start >= text.length) break;
    if (start >= copied) redacted += `${text.slice(copied, start)}[token]`;
    copied = Math.max(copied, end);
  }
  return redacted + text.slice(copied);
}

/** Replaces invalid UTF-8; omits a character that is cut off at the end. */
const decodeUtf8 = (bytes: Uint8Array): string => new TextDecoder().decode(bytes, { stream: true });

/** A text in lower case after a number of passes. */
interface DecodedText {
  text: string;
  /** The position in the source of each character, and of the end. */
  starts: Uint32Array;
}

/** Each pass halves a run of backslashes: 12 passes decode 4,096 of them. */
const MAX_PASSES = 16;

/**
 * Decodes the escapes of JSON, URLs and HTML in passes, one level in each: a receiver may escape a text several times. Returns
 * the text before the first and after each pass; undefined when it is escaped more than MAX_PASSES times.
 */
function decodeEscapes(source: string): DecodedText[] | undefined {
  const passes: DecodedText[] = [];
  let current: DecodedText | undefined = {
    text: source.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
    starts: new Uint32Array(source.length + 1).map((_, position) => position),
  };
  while (current !== undefined) {
    if (passes.length > MAX_PASSES) return undefined;
    passes.push(current);
    current = decodeOnce(current);
  }
  return passes;
}

/** The groups are a code in JSON, another character after a backslash, a code in a URL, and an entity of HTML. */
const ESCAPE = /\\(?:u00|x)([0-9a-f]{2})|\\(.)|%([0-9a-f]{2})|&(#?\w+);/gs;

/** Returns undefined when there is nothing to decode. */
function decodeOnce({ text, starts }: DecodedText): DecodedText | undefined {
  const decodedStarts = new Uint32Array(starts.length);
  let [decoded, copied] = ["", 0];
  const copyTo = (end: number) => {
    for (let from = copied, to = decoded.length; from < end; ) decodedStarts[to++] = starts[from++] as number;
    decoded += text.slice(copied, end);
  };
  for (const match of text.matchAll(ESCAPE)) {
    const character = characterOf(match);
    if (character === undefined) continue;
    copyTo(match.index);
    decodedStarts[decoded.length] = starts[match.index] as number;
    decoded += character;
    copied = match.index + match[0].length;
  }
  if (copied === 0) return undefined;
  copyTo(starts.length);
  return { text: decoded, starts: decodedStarts };
}

/** Returns an ASCII character in lower case, or undefined: no token contains another one. */
function characterOf([, jsonCode, character, urlCode, entity = ""]: RegExpExecArray): string | undefined {
  if (character !== undefined) return character;
  if (entity && !entity.startsWith("#")) return HTML_CHARACTERS.get(entity);
  const code = entity ? entity.slice(1).replace(/^x/, "0x") : `0x${jsonCode ?? urlCode}`;
  return Number(code) < 128 ? String.fromCharCode(Number(code)).toLowerCase() : undefined;
}

/** HTML's names for ASCII characters. */
const HTML_CHARACTERS: ReadonlyMap<string, string> = new Map([
  ["excl", "!"],
  ["quot", '"'],
  ["num", "#"],
  ["dollar", "$"],
  ["percnt", "%"],
  ["amp", "&"],
  ["apos", "'"],
  ["lpar", "("],
  ["rpar", ")"],
  ["ast", "*"],
  ["plus", "+"],
  ["comma", ","],
  ["period", "."],
  ["sol", "/"],
  ["colon", ":"],
  ["semi", ";"],
  ["lt", "<"],
  ["equals", "="],
  ["gt", ">"],
  ["quest", "?"],
  ["commat", "@"],
  ["lbrack", "["],
  ["lsqb", "["],
  ["bsol", "\\"],
  ["rbrack", "]"],
  ["rsqb", "]"],
  ["hat", "^"],
  ["lowbar", "_"],
  ["grave", "`"],
  ["lbrace", "{"],
  ["lcub", "{"],
  ["verbar", "|"],
  ["vert", "|"],
  ["rbrace", "}"],
  ["rcub", "}"],
]);
