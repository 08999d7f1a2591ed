/**
 * JSON with object fields sorted by name, in pieces: equal values produce equal texts. Pieces let the caller pause
 * within a large value.
 */
export function* canonicalJson(value: unknown): Generator<string> {
  if (Array.isArray(value)) yield* canonicalArray(value);
  else if (typeof value === "object" && value !== null)
    yield* canonicalObject(value as Record<string, unknown>);
  else yield typeof value === "bigint" ? String(value) : JSON.stringify(value);
}

function* canonicalArray(items: readonly unknown[]): Generator<string> {
  let separator = "[";
  for (const item of items) {
    yield separator;
    yield* canonicalJson(item);
    separator = ",";
  }
  yield items.length === 0 ? "[]" : "]";
}

function* canonicalObject(fields: Record<string, unknown>): Generator<string> {
  const names = Object.keys(fields).sort();
  let separator = "{";
  for (const name of names) {
    yield `${separator}${JSON.stringify(name)}:`;
    yield* canonicalJson(fields[name]);
    separator = ",";
  }
  yield names.length === 0 ? "{}" : "}";
}
