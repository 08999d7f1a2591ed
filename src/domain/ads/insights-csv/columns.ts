import type { Fields } from "../../../platforms/client/body.ts";
import { asObject, textOf } from "../../../platforms/client/json-values.ts";
import { toCell } from "./cells.ts";
import { isAttributionWindow, isKnownListField, windowColumn } from "./list-fields.ts";

/** The names that an insights query asks for. */
export interface InsightsSelection {
  breakdowns?: readonly string[] | undefined;
  /** The columns are the keys of the first rows when the fields are not known. */
  fields?: readonly string[] | undefined;
}

export interface Columns {
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
export function findColumns(
  firstRows: readonly Fields[],
  { breakdowns = [], fields }: InsightsSelection,
): Columns {
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
