import type { Fields } from "../../../platforms/client/body.ts";
import { asList, asObject, lookUp, textOf } from "../../../platforms/client/json-values.ts";
import { toCell } from "./cells.ts";
import { isKnownListField } from "./list-fields.ts";

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
  /** Columns by list field and action type. */
  lists: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** The column of everything that fits no other; undefined when the query has no list field. */
  other: number | undefined;
  /** True when a later row may have fields without a column, because the fields are not known. */
  isOpen: boolean;
}

const DATE_FIELDS = ["date_start", "date_stop"];
const OTHER = "other_actions";

/** Breakdowns, fields, dates; a list field has one column per action type found in the first rows. */
export function findColumns(
  firstRows: readonly Fields[],
  { breakdowns = [], fields }: InsightsSelection,
): Columns {
  const groups = [...breakdowns, ...DATE_FIELDS];
  const metrics = (fields ?? firstRows.flatMap(Object.keys)).filter((name) => !groups.includes(name));
  const header: string[] = [];
  const addColumn = (name: string) => header.push(toCell(name) as string) - 1;
  const [plain, lists] = [new Map<string, number>(), new Map<string, Map<string, number>>()];
  for (const name of new Set([...breakdowns, ...metrics, ...DATE_FIELDS]))
    if (groups.includes(name) || !isListField(firstRows, name)) plain.set(name, addColumn(name));
    else
      lists.set(
        name,
        new Map(findActionTypes(firstRows, name).map((type) => [type, addColumn(`${name}.${type}`)])),
      );
  const isOpen = fields === undefined;
  return { header, plain, lists, other: isOpen || lists.size > 0 ? addColumn(OTHER) : undefined, isOpen };
}

const isListField = (rows: readonly Fields[], name: string): boolean =>
  isKnownListField(name) || rows.some((row) => Array.isArray(lookUp(row, name)));

function findActionTypes(rows: readonly Fields[], name: string): string[] {
  const entries = rows.flatMap((row) => asList(lookUp(row, name)));
  const types = entries.map((entry) => textOf(asObject(entry).action_type));
  return [...new Set(types.filter((type) => type !== undefined))];
}
