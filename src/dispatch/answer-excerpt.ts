const KEPT = 1_024;

/** As much as a token may have: one that begins in the part that is kept must be seen whole. */
const MARGIN = 256;

/** How many bytes of an answer an excerpt is made from. */
export const LOOKED_AT = KEPT + MARGIN;

/** The beginning of an answer as a text that Postgres can keep; without the token, which some receivers send back. */
export function excerptOf(bytes: Buffer, token: string | undefined): string | null {
  const text = wellFormed(bytes.subarray(0, LOOKED_AT)).replaceAll("\u0000", "\ufffd");
  const silent = token === undefined ? text : text.replaceAll(token, "[token]");
  return wellFormed(Buffer.from(silent).subarray(0, KEPT)) || null;
}

/** What is no UTF-8 is replaced; a character that was cut off at the end is left out. */
const wellFormed = (bytes: Uint8Array): string => new TextDecoder().decode(bytes, { stream: true });
