const DIGITS = /^-?\d+$/;

/** An integer too long for a JavaScript number, written as the platform writes it: bare digits. */
export function bare(digits: string): bigint {
  if (!DIGITS.test(digits)) throw new Error(`not an integer: ${digits}`);
  return BigInt(digits);
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
