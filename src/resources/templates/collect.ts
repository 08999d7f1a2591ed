import type { Fields } from "../../platforms/client/body.ts";
import type { PlatformListPage } from "../../platforms/client/list-pages.ts";
import { unusableAnswer } from "../../platforms/errors/failure.ts";

/** Where a list goes on: behind one of the platform's cursors, and so many items further. Its cursors stand between pages only. */
export interface Position {
  after: string | undefined;
  skip: number;
}

interface CollectOptions {
  from: Position;
  limit: number;
  /** What the platform cannot be asked for; absent: all is wanted. */
  matches?: ((item: Fields) => boolean) | undefined;
}

export interface Collection {
  found: Fields[];
  /** Found or not. */
  read: Fields[];
  /** Where the next one is to be looked for; undefined when there is none. */
  next: Position | undefined;
}

/** As many of a platform's list as are wanted, over as many of its pages as that takes, and whether there are more. */
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
    // Without a filter of ours the platform's word is enough that there are more.
    if (!matches && found.length === limit) return { found, read, next: { after, skip: 0 } };
  }
}

function nextCursor({ after }: PlatformListPage, seen: Set<string>): string {
  if (after === null || seen.has(after)) throw unusableAnswer("The platform's list does not end");
  seen.add(after);
  return after;
}
