const DIGITS = /^-?\d+$/;

/** An integer too long for a JavaScript number, written as the platform writes it: bare digits. */
export function bare(digits: string): bigint {
  if (!DIGITS.test(digits)) throw new Error(`not an integer: ${digits}`);
  return BigInt(digits);
}

const TEXT_OR_LONG_INTEGER = /"(?:[^"\\]|\\.)*"|(?<![\w.+-])-?\d{16,}(?![\d.eE])/g;

/** JSON read without loss: an integer too long for a JavaScript number is a bigint, and toJson writes it back as it came. */
export function fromJson(text: string): unknown {
  const marked = text.replaceAll(TEXT_OR_LONG_INTEGER, (found) =>
    found.startsWith('"') ? found : `"\\u0000${found}\\u0000"`,
  );
  return JSON.parse(marked, (_key, inner) =>
    typeof inner === "string" && inner.startsWith("\u0000") && DIGITS.test(inner.slice(1, -1))
      ? bare(inner.slice(1, -1))
      : inner,
  );
}

/** JSON in which a bigint stands as bare digits. */
export function toJson(value: unknown): string {
  const marked = JSON.stringify(value, (_key, inner) =>
    typeof inner === "bigint" ? `\u0000${inner}\u0000` : inner,
  );
  return marked.replaceAll(/"\\u0000(-?\d+)\\u0000"/g, "$1");
}

/** As the platform sends webhooks: whatever is not ASCII is escaped, so that only the raw bytes verify. */
export const toAsciiJson = (value: unknown): string => escaped(toJson(value));

/** JSON text with everything in it escaped that is not ASCII; it means the same. */
export const escaped = (json: string): string =>
  json.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
