import { type DecodedText, decodeEscapes } from "./decode-escapes.ts";

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
