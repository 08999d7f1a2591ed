import type { PageRequest } from "../../store/database/paging.ts";

const PAGE_ROWS = 500;

type ReadPage<Row> = (page: PageRequest) => Promise<Row[]>;

/** Reads all rows of a list, page by page. */
export const readAllPages = async <Row extends { id: string }>(read: ReadPage<Row>): Promise<Row[]> =>
  (await readPages(read, Number.POSITIVE_INFINITY)).rows;

/** Reads the first rows of a list, page by page, and whether there are more. */
export async function readPages<Row extends { id: string }>(
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
