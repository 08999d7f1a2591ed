/** A piece ends after the first value beyond this length. */
const PIECE_CHARACTERS = 10_000;

/**
 * JSON with object fields sorted by name, in pieces: equal values produce equal texts. Pieces let the caller pause
 * within a large value; they are not smaller, because a step of a generator costs more than a short value.
 */
export function* canonicalJson(value: unknown): Generator<string> {
  if (Array.isArray(value)) yield* canonicalArray(value);
  else if (isContainer(value)) yield* canonicalObject(value as Record<string, unknown>);
  else yield scalarText(value);
}

const isContainer = (value: unknown): boolean => typeof value === "object" && value !== null;

const scalarText = (value: unknown): string =>
  typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? "");

function* canonicalArray(items: readonly unknown[]): Generator<string> {
  let piece = "[";
  for (const [index, item] of items.entries()) {
    if (index > 0) piece += ",";
    if (isContainer(item) || piece.length > PIECE_CHARACTERS) {
      yield piece;
      piece = "";
    }
    if (isContainer(item)) yield* canonicalJson(item);
    else piece += scalarText(item);
  }
  yield `${piece}]`;
}

function* canonicalObject(fields: Record<string, unknown>): Generator<string> {
  let piece = "{";
  for (const [index, name] of Object.keys(fields).sort().entries()) {
    const value = fields[name];
    piece += `${index > 0 ? "," : ""}${JSON.stringify(name)}:`;
    if (isContainer(value) || piece.length > PIECE_CHARACTERS) {
      yield piece;
      piece = "";
    }
    if (isContainer(value)) yield* canonicalJson(value);
    else piece += scalarText(value);
  }
  yield `${piece}}`;
}
