const KEPT = 1_024;

/** As much as a token may take, with every character of it escaped: one that begins in the part that is kept must be seen whole. */
const MARGIN = 6 * 256;

/** How many bytes of an answer an excerpt is made from. */
export const LOOKED_AT = KEPT + MARGIN;

/** The beginning of an answer as a text that Postgres can keep; without the token, which some receivers send back. */
export function excerptOf(bytes: Buffer, token: string | undefined): string | null {
  if (bytes.length === 0) return null;
  const text = wellFormed(bytes.subarray(0, LOOKED_AT)).replaceAll("\u0000", "\ufffd");
  const silent = token === undefined ? text : text.replaceAll(anySpelling(token), "[token]");
  const kept = silent.length * 3 <= KEPT ? silent : wellFormed(Buffer.from(silent).subarray(0, KEPT));
  return kept || null;
}

/** The token as it stands, and as JSON, URLs and HTML may write it. */
function anySpelling(token: string): RegExp {
  const spellings = [...token].map((character) => {
    if (/[A-Za-z0-9_]/.test(character)) return character;
    const code = character.charCodeAt(0);
    const hex = code.toString(16).padStart(2, "0");
    const plain = `\\x${hex}`;
    return `(?:\\\\?${plain}|\\\\u00${hex}|%${hex}|&#(?:0*${code}|x0*${hex});|${NAMED[character] ?? plain})`;
  });
  return new RegExp(spellings.join(""), "gi");
}

const NAMED: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** What is no UTF-8 is replaced; a character that was cut off at the end is left out. */
const wellFormed = (bytes: Uint8Array): string => new TextDecoder().decode(bytes, { stream: true });
