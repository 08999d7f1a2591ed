const [GROUP_CHARS, GROUP_BYTES] = [4, 3];

/**
 * Decodes strict base64: no whitespace, no characters of other alphabets, correct padding. Undefined for any other text.
 * A regular expression would take ten times as long as the decoder, which skips what it does not know: then bytes are
 * missing.
 */
export function decodeBase64(text: string): Buffer | undefined {
  if (text.length % GROUP_CHARS !== 0 || !isAscii(text)) return undefined;
  if (text.includes("-") || text.includes("_")) return undefined; // the decoder accepts the alphabet of URLs too
  const lastGroup = text.slice(-GROUP_CHARS);
  // The decoder ignores superfluous bits of the last group; its canonical form has none.
  if (Buffer.from(lastGroup, "base64").toString("base64") !== lastGroup) return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.length === decodedLength(text) ? bytes : undefined;
}

/** The decoder takes other characters for those that have the same low byte. */
const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length;

function decodedLength(text: string): number {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return (text.length / GROUP_CHARS) * GROUP_BYTES - padding;
}
