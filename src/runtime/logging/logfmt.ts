/** Formats a log record as `key=value` pairs on one line; nested values become compact JSON. */
export function toLogfmt(record: Record<string, unknown>): string {
  let line = "";
  for (const key in record) {
    const value = record[key];
    if (value !== undefined && value !== null)
      line += `${line === "" ? "" : " "}${key}=${formatValue(value)}`;
  }
  return line;
}

function formatValue(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : textOf(value);
  return text === "" || UNSAFE.test(text) ? JSON.stringify(text) : text;
}

const textOf = (value: unknown): string =>
  value instanceof Date
    ? value.toISOString()
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);

// A quote, an equals sign, white space or a control character would break the line for a parser.
const UNSAFE = /["=\s\p{Cc}]/u;
