import type { PageRequest } from "../store/database/paging.ts";

const PAGE_ROWS = 500;

/** Reads all rows of a list, page by page. */
export async function readAllPages<Row extends { id: string }>(
  read: (page: PageRequest) => Promise<Row[]>,
): Promise<Row[]> {
  const all: Row[] = [];
  for (;;) {
    const after = all.at(-1)?.id;
    const rows = await read({ limit: PAGE_ROWS, ...(after === undefined ? {} : { after }) });
    all.push(...rows.slice(0, PAGE_ROWS));
    if (rows.length <= PAGE_ROWS) return all;
  }
}
