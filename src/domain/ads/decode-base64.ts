/** Decodes strict base64: no whitespace, no characters of other alphabets, correct padding. Undefined for any other text. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  // The decoder skips or tolerates what is not strict; such a text differs from its canonical form.
  return bytes.toString("base64") === text ? bytes : undefined;
}
