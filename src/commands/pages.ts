import type { PageRequest } from "../store/database/paging.ts";

const PAGE = 500;

/** All rows of a list, read page by page. */
export async function everyPage<Row extends { id: string }>(
  read: (page: PageRequest) => Promise<Row[]>,
): Promise<Row[]> {
  const all: Row[] = [];
  for (;;) {
    const after = all.at(-1)?.id;
    const rows = await read({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    all.push(...rows.slice(0, PAGE));
    if (rows.length <= PAGE) return all;
  }
}
