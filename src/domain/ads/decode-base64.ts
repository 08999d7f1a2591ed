const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const GROUP_CHARS = 4;

/** Decodes strict base64: no whitespace, no characters of other alphabets, correct padding. Undefined for any other text. */
export function decodeBase64(text: string): Buffer | undefined {
  if (text.length % GROUP_CHARS !== 0 || !BASE64.test(text)) return undefined;
  // The decoder ignores superfluous bits of the last group; its canonical form has none.
  const lastGroup = text.slice(-GROUP_CHARS);
  const isCanonical = Buffer.from(lastGroup, "base64").toString("base64") === lastGroup;
  return isCanonical ? Buffer.from(text, "base64") : undefined;
}
