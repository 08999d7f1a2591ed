/**
 * Decodes the escapes of JSON, URLs and HTML in passes: each pass decodes one level, as a receiver may escape a text
 * several times. A pass takes linear time and shortens the text.
 */

/** A text in lower case after a number of passes. */
export interface DecodedText {
  text: string;
  /** The position in the source of each character, and of the end. */
  starts: Uint32Array;
}

/** Each pass halves a run of backslashes: 12 passes decode 4,096 of them. */
const MAX_PASSES = 16;

/** Returns the text before the first and after each pass; undefined when it is escaped more than MAX_PASSES times. */
export function decodeEscapes(source: string): DecodedText[] | undefined {
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
