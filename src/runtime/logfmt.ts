/** One log record as `key=value` pairs on one line; nested values become compact JSON. */
export function toLogfmt(record: Record<string, unknown>): string {
  return Object.entries(record)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([key, value]) => `${key}=${formatValue(value)}`)
    .join(" ");
}

function formatValue(value: unknown): string {
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text === "" || UNSAFE.test(text) ? JSON.stringify(text) : text;
}

// A quote, an equals sign, white space or a control character would break the line for its reader.
const UNSAFE = /["=\s\p{Cc}]/u;
