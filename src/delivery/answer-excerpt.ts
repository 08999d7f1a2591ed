const MAX_EXCERPT_BYTES = 1_024;

/** As much as a token may take, with every character of it escaped: one that begins in the part that is kept must be seen whole. */
const TOKEN_MARGIN_BYTES = 6 * 256;

/** How many bytes of an answer an excerpt is made from. */
export const EXCERPT_SOURCE_BYTES = MAX_EXCERPT_BYTES + TOKEN_MARGIN_BYTES;

/** The beginning of an answer as a text that Postgres can keep; without the token, which some receivers send back. */
export function excerptOf(bytes: Buffer, token: string | undefined): string | null {
  if (bytes.length === 0) return null;
  const text = decodeUtf8(bytes.subarray(0, EXCERPT_SOURCE_BYTES)).replaceAll("\u0000", "\ufffd");
  const redacted = token === undefined ? text : text.replaceAll(tokenPattern(token), "[token]");
  const excerpt =
    redacted.length * 3 <= MAX_EXCERPT_BYTES
      ? redacted
      : decodeUtf8(Buffer.from(redacted).subarray(0, MAX_EXCERPT_BYTES));
  return excerpt || null;
}

/** The token as it stands, and as JSON, URLs and HTML may write it. */
function tokenPattern(token: string): RegExp {
  const spellings = [...token].map((character) => {
    if (/[A-Za-z0-9_]/.test(character)) return character;
    const code = character.charCodeAt(0);
    const hex = code.toString(16).padStart(2, "0");
    const plain = `\\x${hex}`;
    return `(?:\\\\?${plain}|\\\\u00${hex}|%${hex}|&#(?:0*${code}|x0*${hex});|${HTML_ENTITIES[character] ?? plain})`;
  });
  return new RegExp(spellings.join(""), "gi");
}

const HTML_ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** What is no UTF-8 is replaced; a character that was cut off at the end is left out. */
const decodeUtf8 = (bytes: Uint8Array): string => new TextDecoder().decode(bytes, { stream: true });
