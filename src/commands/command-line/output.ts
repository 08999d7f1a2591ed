import type { PageRequest } from "../../store/database/paging.ts";

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

const PAGE_ROWS = 500;

type ReadPage<Row> = (page: PageRequest) => Promise<Row[]>;

/** Reads all rows of a list, page by page. */
export const readAllPages = async <Row extends { id: string }>(read: ReadPage<Row>): Promise<Row[]> =>
  (await readPages(read, Number.POSITIVE_INFINITY)).rows;

/** Reads the first rows of a list and tells the operator when there are more. */
export async function readFirstRows<Row extends { id: string }>(
  { say }: { say(line: string): void },
  limit: number,
  read: ReadPage<Row>,
): Promise<Row[]> {
  const { rows, hasMore } = await readPages(read, limit);
  if (hasMore) say(`There are more than ${limit}: add filters or raise --limit`);
  return rows;
}

async function readPages<Row extends { id: string }>(
  read: ReadPage<Row>,
  maxRows: number,
): Promise<{ rows: Row[]; hasMore: boolean }> {
  const rows: Row[] = [];
  for (;;) {
    const after = rows.at(-1)?.id;
    const limit = Math.min(PAGE_ROWS, maxRows - rows.length);
    const page = await read({ limit, ...(after === undefined ? {} : { after }) });
    rows.push(...page.slice(0, limit));
    const hasMore = page.length > limit;
    if (!hasMore || rows.length >= maxRows) return { rows, hasMore };
  }
}

/** The progress bar of a long command. */
export interface Progress {
  advance(by: number): void;
  /** Removes the bar, so that only the result remains. A later `advance` draws it again. */
  end(): void;
}

const BAR_WIDTH = 30;

interface Screen {
  isTTY?: boolean;
  write(text: string): unknown;
}

/** Draws only on a terminal; without a total it draws a count. */
export function createProgress(screen: Screen, label: string, total?: number): Progress {
  let done = 0;
  let lastLine = "";
  const draw = () => {
    const line = `${label} ${total === undefined ? done : drawBar(done, total)}`;
    if (screen.isTTY && line !== lastLine) screen.write(`\r${line}`);
    lastLine = line;
  };
  draw();
  return {
    advance(by) {
      done += by;
      draw();
    },
    end() {
      if (screen.isTTY) screen.write(`\r${" ".repeat(lastLine.length)}\r`);
      lastLine = "";
    },
  };
}

function drawBar(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const filled = Math.round(share * BAR_WIDTH);
  const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
  return `${bar} ${Math.floor(share * 100)} % (${done} of ${total})`;
}
