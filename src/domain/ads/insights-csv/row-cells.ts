import type { Fields } from "../../../platforms/client/body.ts";
import { isObject, lookUp, textOf } from "../../../platforms/client/json-values.ts";
import { type Cells, toCell } from "./cells.ts";
import type { Columns } from "./columns.ts";
import { isAttributionWindow, windowColumn } from "./list-fields.ts";

type MutableCells = (string | undefined)[];

/** The cells of a row. Values that fit no column are kept in the column of other actions. */
export function toCells(row: Fields, { header, plain, lists, other, isOpen }: Columns): Cells {
  const cells: MutableCells = new Array(header.length).fill(undefined);
  const rest = new Map<string, readonly unknown[]>();
  for (const [name, column] of plain) cells[column] = toCell(lookUp(row, name));
  for (const [name, columnByType] of lists) {
    const unplaced = entriesOf(lookUp(row, name)).flatMap((entry) => placeEntry(entry, columnByType, cells));
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
 * Writes the values of an entry into the columns of its type and windows, and returns the rest of it. An entry that a cell
 * cannot show is returned whole: of a later type, a second one of its type, or with an action breakdown.
 */
function placeEntry(
  entry: unknown,
  columnByType: ReadonlyMap<string, number>,
  cells: MutableCells,
): unknown[] {
  if (!isObject(entry)) return [entry];
  const { action_type, value, ...others } = entry;
  const type = textOf(action_type) ?? "";
  const windows = Object.keys(others);
  const place = (name: string, shown: unknown) => placeValue(shown, columnByType.get(name), cells);
  if (!windows.every(isAttributionWindow) || !place(type, value)) return [entry];
  const unplaced = windows.filter((window) => !place(windowColumn(type, window), others[window]));
  if (unplaced.length === 0) return [];
  return [{ action_type, ...Object.fromEntries(unplaced.map((window) => [window, others[window]])) }];
}

/** Returns false when there is no value, no column for it, or another value in its cell. */
function placeValue(value: unknown, column: number | undefined, cells: MutableCells): boolean {
  const cell = toCell(value);
  if (column === undefined || cell === undefined || cells[column] !== undefined) return false;
  cells[column] = cell;
  return true;
}
