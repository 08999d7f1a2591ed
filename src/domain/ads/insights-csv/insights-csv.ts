import type { Fields } from "../../../platforms/client/body.ts";
import { startIteration } from "../../../runtime/async/start-iteration.ts";
import { nextSlice } from "../../../runtime/async/time-slices.ts";
import { toCsv } from "./cells.ts";
import { type Columns, findColumns, type InsightsSelection } from "./columns.ts";
import { toCells } from "./row-cells.ts";

export type { InsightsSelection } from "./columns.ts";

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
