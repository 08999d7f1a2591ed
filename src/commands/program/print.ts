/** Formats a result for people: a table for `{ data: [...] }`, otherwise one line per field. */
export function toText(result: object): string {
  const { data } = result as { data?: unknown };
  if (Array.isArray(data)) return data.length === 0 ? "none" : toTable(data as Record<string, unknown>[]);
  const fields = Object.entries(result);
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${toCell(value)}`).join("\n");
}

export function toTable(rows: readonly Record<string, unknown>[]): string {
  const columns = Object.keys(rows[0] as object);
  const lines = [columns, ...rows.map((row) => columns.map((column) => toCell(row[column])))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => (line[index] as string).length)));
  return lines
    .map((line) =>
      line
        .map((text, index) => text.padEnd(widths[index] as number))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(toCell).join(",");
  return String(value);
}

/** A table of these columns, which some rows may lack. */
export const toColumns = (data: readonly object[], columns: readonly string[]): string =>
  toText({
    data: data.map((row) =>
      Object.fromEntries(columns.map((column) => [column, (row as Record<string, unknown>)[column]])),
    ),
  });
