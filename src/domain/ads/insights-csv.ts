import { stringify } from "csv-stringify/sync";
import type { Fields } from "../../platforms/bodies.ts";
import { asObject, isObject, lookUp, textOf } from "../../platforms/bodies.ts";
import { startIteration } from "../../runtime/async/iteration.ts";
import { nextSlice } from "../../runtime/async/time-slices.ts";
import { stringifyJson } from "../../runtime/json/json.ts";

type RowPages = AsyncIterable<readonly Fields[]>;

/** The rows that decide the columns. */
const HEADER_ROWS = 500;
/** Cells formatted at once: more would delay other requests. */
const MAX_CELLS_PER_SLICE = 20_000;

/**
 * Formats insights as CSV text, the header first. Rejects when a page that the header needs cannot be read; a later
 * error ends the iteration. Pages are read only as fast as the text is consumed.
 */
export const formatInsightsCsv = (
  pages: RowPages,
  selection: InsightsSelection,
): Promise<AsyncIterableIterator<string>> => startIteration(csvText(pages, selection));

async function* csvText(
  pages: RowPages,
  selection: InsightsSelection,
): AsyncGenerator<string, void, undefined> {
  let columns: Columns | undefined;
  for await (const rows of joinFirstPages(pages)) {
    if (!columns) {
      columns = findColumns(rows.slice(0, HEADER_ROWS), selection);
      yield toCsv([columns.header]);
    }
    yield* formatRows(rows, columns);
  }
}

/** Joins pages until they have the rows that decide the columns. Yields at least once, because every file has a header. */
async function* joinFirstPages(pages: RowPages): RowPages {
  let joined: readonly Fields[] | undefined = [];
  for await (const page of pages) {
    const rows: readonly Fields[] = joined ? [...joined, ...page] : page;
    joined = joined && rows.length < HEADER_ROWS ? rows : undefined;
    if (!joined) yield rows;
  }
  if (joined) yield joined;
}

async function* formatRows(
  rows: readonly Fields[],
  columns: Columns,
): AsyncGenerator<string, void, undefined> {
  const rowsPerSlice = Math.max(1, Math.floor(MAX_CELLS_PER_SLICE / columns.header.length));
  for (let start = 0; start < rows.length; start += rowsPerSlice) {
    if (start > 0) await nextSlice();
    yield toCsv(rows.slice(start, start + rowsPerSlice).map((row) => toCells(row, columns)));
  }
}

/** The names that an insights query asks for. */
export interface InsightsSelection {
  breakdowns?: readonly string[] | undefined;
  /** The columns are the keys of the first rows when the fields are not known. */
  fields?: readonly string[] | undefined;
}

interface Columns {
  header: readonly string[];
  /** Columns by field. */
  plain: ReadonlyMap<string, number>;
  /** Columns by list field and action type, or action type and attribution window. */
  lists: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** The column of everything that fits no other; undefined when the query has no list field. */
  other: number | undefined;
  /** True when a later row may have fields without a column, because the fields are not known. */
  isOpen: boolean;
}

const DATE_FIELDS = ["date_start", "date_stop"];
const OTHER = "other_actions";

/** Spreadsheets and this process are slow with more. */
const MAX_COLUMNS = 2_000;

/**
 * Breakdowns, fields, dates; a list field has one column per action type, and per window of it, found in the first
 * rows. Everything beyond MAX_COLUMNS is left to the column of other actions.
 */
function findColumns(firstRows: readonly Fields[], { breakdowns = [], fields }: InsightsSelection): Columns {
  const isOpen = fields === undefined;
  const typesByField = findActionTypes(firstRows);
  const groups = new Set([...breakdowns, ...DATE_FIELDS]);
  const metrics = (fields ?? firstRows.flatMap(Object.keys)).filter((name) => !groups.has(name));
  const names = [...new Set([...breakdowns, ...metrics, ...DATE_FIELDS])];
  const isPlain = (name: string) => groups.has(name) || !(isKnownListField(name) || typesByField.has(name));
  const plainNames = [...new Set([...DATE_FIELDS, ...names.filter(isPlain)])];
  const withColumn = new Set(plainNames.slice(0, MAX_COLUMNS - 1));
  const header: string[] = [];
  const addColumn = (name: string) => header.push(toCell(name) as string) - 1;
  const [plain, lists] = [new Map<string, number>(), new Map<string, Map<string, number>>()];
  let free = MAX_COLUMNS - 1 - withColumn.size; // the last column is that of other actions
  for (const name of names) {
    if (withColumn.has(name)) {
      plain.set(name, addColumn(name));
      continue;
    }
    const types = [...(typesByField.get(name) ?? [])].slice(0, free);
    free -= types.length;
    // Rows of unknown fields may have any number of lists; each row is checked against all that are kept here.
    if (isOpen && types.length === 0) continue;
    lists.set(name, new Map(types.map((type) => [type, addColumn(`${name}.${type}`)])));
  }
  return { header, plain, lists, other: isOpen || lists.size > 0 ? addColumn(OTHER) : undefined, isOpen };
}

/** The action types of each field that is a list in any of the rows, and their attribution windows. */
function findActionTypes(rows: readonly Fields[]): Map<string, Set<string>> {
  const typesByField = new Map<string, Set<string>>();
  for (const row of rows)
    for (const [name, value] of Object.entries(row)) {
      if (!Array.isArray(value)) continue;
      const types = typesByField.get(name) ?? new Set();
      typesByField.set(name, types);
      for (const entry of value) addTypes(types, asObject(entry));
    }
  return typesByField;
}

function addTypes(types: Set<string>, entry: Fields): void {
  const type = textOf(entry.action_type);
  if (type === undefined) return;
  types.add(type);
  for (const name of Object.keys(entry)) if (isAttributionWindow(name)) types.add(windowColumn(type, name));
}

/** How the names of the platform's list fields end. */
const LIST_FIELD_ENDINGS = ["actions", "action_values", "action_type", "_roas", "outbound_clicks"];

/** Further list fields. A list field without entries is absent from the rows, so its name must tell. */
const LIST_FIELDS: ReadonlySet<string> = new Set([
  "conversions",
  "conversion_values",
  "cost_per_conversion",
  "cost_per_outbound_click",
  "cost_per_thruplay",
  "cost_per_unique_outbound_click",
  "outbound_clicks_ctr",
  "unique_outbound_clicks_ctr",
  "website_ctr",
]);

/** True for fields whose value is a list of `{ action_type, value }`. */
const isKnownListField = (name: string): boolean =>
  LIST_FIELDS.has(name) || LIST_FIELD_ENDINGS.some((ending) => name.endsWith(ending));

const ATTRIBUTION_WINDOW = /^(?:\d+d_[a-z_]+|skan_[a-z_]+|dda|default|inline)$/;

/** True for the keys of an entry that hold its value for one attribution window, such as `7d_click`. */
const isAttributionWindow = (name: string): boolean => ATTRIBUTION_WINDOW.test(name);

/** The column of an attribution window within those of its list field. */
const windowColumn = (type: string, window: string): string => `${type}.${window}`;

type MutableCells = (string | undefined)[];

/** The cells of a row. Values that fit no column are kept in the column of other actions. */
function toCells(row: Fields, { header, plain, lists, other, isOpen }: Columns): Cells {
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

/** The cells of a row, in the order of the columns; undefined is an empty cell. */
type Cells = readonly (string | undefined)[];

/** The package quotes a cell with its whole record delimiter; RFC 4180 also quotes a single CR or LF. */
const RFC_4180 = { record_delimiter: "\r\n", quoted_match: ["\r", "\n"] };

/** The rows as RFC 4180 text; every row ends with CRLF. */
const toCsv = (rows: readonly Cells[]): string => stringify([...rows], RFC_4180);

/** Returns scalars as text, without rounding long integers, and everything else as JSON. */
function toCell(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return withoutFormula(typeof value === "object" ? stringifyJson(value) : String(value));
}

const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** A spreadsheet would run such a cell as a formula, and action types and names come from the platform's users. */
const withoutFormula = (text: string): string =>
  /^[=+\-@\t\r]/.test(text) && !NUMBER.test(text) ? `'${text}` : text;
