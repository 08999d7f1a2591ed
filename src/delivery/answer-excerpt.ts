const MAX_EXCERPT_BYTES = 1_024;

/** Space for a token with every character escaped: a token that begins within the excerpt must be matched whole. */
const TOKEN_MARGIN_BYTES = 6 * 256;

/** Bytes of an answer that an excerpt is made from. */
export const EXCERPT_SOURCE_BYTES = MAX_EXCERPT_BYTES + TOKEN_MARGIN_BYTES;

/** Returns the beginning of an answer as text that Postgres accepts. Redacts the token, which some receivers echo. */
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

/** Matches the token verbatim and as JSON, URLs and HTML may escape it. */
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

/** Replaces invalid UTF-8; omits a character that is cut off at the end. */
const decodeUtf8 = (bytes: Uint8Array): string => new TextDecoder().decode(bytes, { stream: true });
