import type { Fields } from "../../platforms/client/body.ts";
import type { PlatformListPage } from "../../platforms/client/list-pages.ts";
import { unusableAnswer } from "../../platforms/errors/failure.ts";

/**
 * A position in a list: after one of the platform's cursors, plus a number of items. The platform has cursors
 * only between its pages.
 */
export interface Position {
  after: string | undefined;
  skip: number;
}

interface CollectOptions {
  from: Position;
  limit: number;
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
  { from, limit, matches }: CollectOptions,
): Promise<Collection> {
  const [found, read]: [Fields[], Fields[]] = [[], []];
  const seen = new Set<string>();
  let { after, skip } = from;
  let next = from;
  for (;;) {
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
    after = nextCursor(page, seen);
    // Without a filter, the platform's `hasMore` is sufficient.
    if (!matches && found.length === limit) return { found, read, next: { after, skip: 0 } };
  }
}

function nextCursor({ after }: PlatformListPage, seen: Set<string>): string {
  if (after === null || seen.has(after)) throw unusableAnswer("The platform's list does not end");
  seen.add(after);
  return after;
}
