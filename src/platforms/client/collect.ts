import type { Fields } from "./body.ts";
import { COLLECTED_LIST, createCursorFollower, type PlatformListPage } from "./list-pages.ts";

/**
 * A position in a list: after one of the platform's cursors, plus a number of items. The platform has cursors
 * only between its pages.
 */
export interface Position {
  after: string | undefined;
  skip: number;
}

export const encodePosition = ({ after, skip }: Position): string => JSON.stringify([skip, after]);

/** Decodes what encodePosition returned; without it, the position is the start of the list. */
export function decodePosition(encoded: string | undefined): Position {
  const [skip, after] = encoded === undefined ? [0] : JSON.parse(encoded);
  return { after: after ?? undefined, skip };
}

/** Items per platform page, and pages per request: a list of rare matches then ends early. */
export const [SEARCH_PAGE_SIZE, MAX_SEARCHED_PAGES] = [100, 10];

interface CollectOptions {
  from: Position;
  limit: number;
  /** Platform pages to read at most; the collection then ends early and has a next position. */
  maxPages?: number;
  /** A filter that the platform cannot apply; undefined keeps every item. */
  matches?: ((item: Fields) => boolean) | undefined;
}

export interface Collection {
  found: Fields[];
  /** All items that were read, matching or not. */
  read: Fields[];
  /** The position of the next item; undefined at the end of the list. */
  next: Position | undefined;
}

/**
 * Reads the platform's pages until `limit` matching items are found, and determines whether there are more.
 */
export async function collect(
  readPage: (after: string | undefined) => Promise<PlatformListPage>,
  { from, limit, maxPages = Number.POSITIVE_INFINITY, matches }: CollectOptions,
): Promise<Collection> {
  const [found, read]: [Fields[], Fields[]] = [[], []];
  const nextCursor = createCursorFollower(COLLECTED_LIST);
  let { after, skip } = from;
  let next = from;
  for (let pages = 1; ; pages++) {
    const page = await readPage(after);
    for (const [index, item] of page.items.entries()) {
      read.push(item);
      if (index < skip || matches?.(item) === false) continue;
      if (found.length === limit) return { found, read, next };
      found.push(item);
      next = { after, skip: index + 1 };
    }
    if (!page.hasMore) return { found, read, next: undefined };
    skip = Math.max(0, skip - page.items.length);
    after = nextCursor(page);
    // Without a filter, the platform's `hasMore` is sufficient.
    const isComplete = !matches && found.length === limit;
    if (isComplete || pages === maxPages) return { found, read, next: { after, skip } };
  }
}
