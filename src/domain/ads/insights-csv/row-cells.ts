import type { Fields } from "../../../platforms/client/body.ts";
import { isObject, lookUp, textOf } from "../../../platforms/client/json-values.ts";
import { type Cells, toCell } from "./cells.ts";
import type { Columns } from "./columns.ts";

/** The cells of a row. Values that fit no column are kept in the column of other actions. */
export function toCells(row: Fields, { header, plain, lists, other, isOpen }: Columns): Cells {
  const cells: (string | undefined)[] = new Array(header.length).fill(undefined);
  const rest = new Map<string, readonly unknown[]>();
  for (const [name, column] of plain) cells[column] = toCell(lookUp(row, name));
  for (const [name, columnByType] of lists) {
    const unplaced = entriesOf(lookUp(row, name)).filter((entry) => !placeEntry(entry, columnByType, cells));
    if (unplaced.length > 0) rest.set(name, unplaced);
  }
  if (isOpen)
    for (const [name, value] of Object.entries(row))
      if (!plain.has(name) && !lists.has(name)) rest.set(name, entriesOf(value));
  if (other !== undefined && rest.size > 0) cells[other] = toCell(Object.fromEntries(rest));
  return cells;
}

/** The platform omits an empty list and may send a single value. */
function entriesOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/**
 * Writes the value of an entry into the column of its type. Returns false for an entry that a cell cannot show: of a
 * later type, a second one of its type, or with more than type and value, such as an action breakdown.
 */
function placeEntry(
  entry: unknown,
  columnByType: ReadonlyMap<string, number>,
  cells: (string | undefined)[],
): boolean {
  if (!isObject(entry) || Object.keys(entry).length !== 2) return false;
  const column = columnByType.get(textOf(entry.action_type) ?? "");
  const cell = toCell(entry.value);
  if (column === undefined || cell === undefined || cells[column] !== undefined) return false;
  cells[column] = cell;
  return true;
}
