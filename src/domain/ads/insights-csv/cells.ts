import { stringify } from "csv-stringify/sync";
import { stringifyJson } from "../../../runtime/json/json.ts";

/** The cells of a row, in the order of the columns; undefined is an empty cell. */
export type Cells = readonly (string | undefined)[];

/** The package quotes a cell with its whole record delimiter; RFC 4180 also quotes a single CR or LF. */
const RFC_4180 = { record_delimiter: "\r\n", quoted_match: ["\r", "\n"] };

/** The rows as RFC 4180 text; every row ends with CRLF. */
export const toCsv = (rows: readonly Cells[]): string => stringify([...rows], RFC_4180);

/** Returns scalars as text, without rounding long integers, and everything else as JSON. */
export function toCell(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return withoutFormula(typeof value === "object" ? stringifyJson(value) : String(value));
}

const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** A spreadsheet would run such a cell as a formula, and action types and names come from the platform's users. */
const withoutFormula = (text: string): string =>
  /^[=+\-@\t\r]/.test(text) && !NUMBER.test(text) ? `'${text}` : text;
