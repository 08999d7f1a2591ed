import { HeraldError } from "./errors.ts";
import type { Paging } from "./generated/types.ts";

export interface ListPage<Item> {
  data: Item[];
  paging: Paging;
}

/** The cursor of a page: the items after it, or those before it. */
export type Cursor = { after: string } | { before: string };

/**
 * A list of the API. Nothing is requested until it is read, and each page only when the items before it were taken:
 *
 * ```js
 * for await (const message of herald.messages.list({ status: "failed" })) console.log(message.message_id);
 * ```
 *
 * With `before`, the pages lead towards the beginning of the list.
 */
export class List<Item, Page extends ListPage<Item> = ListPage<Item>> implements AsyncIterable<Item> {
  readonly #readPage: (cursor?: Cursor) => Promise<Page>;
  readonly #isBackwards: boolean;

  constructor(readPage: (cursor?: Cursor) => Promise<Page>, isBackwards: boolean) {
    this.#readPage = readPage;
    this.#isBackwards = isBackwards;
  }

  /** The first page. Its `paging` has the cursors for `after` and `before`. */
  page(): Promise<Page> {
    return this.#readPage();
  }

  /** Every page. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    let cursor: Cursor | undefined;
    for (;;) {
      const page: Page = await this.#readPage(cursor);
      yield page;
      const next = this.#isBackwards ? page.paging.cursors.before : page.paging.cursors.after;
      if (!page.paging.has_more || next === null) return;
      const following = this.#isBackwards ? { before: next } : { after: next };
      // The same cursor again would never end.
      if (JSON.stringify(following) === JSON.stringify(cursor))
        throw new HeraldError({
          code: "unexpected_response",
          message: "the list returned the same cursor twice",
        });
      cursor = following;
    }
  }

  /** Every item. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* page.data;
  }

  /** The first items, at most `limit`. */
  async toArray({ limit }: { limit: number }): Promise<Item[]> {
    const items: Item[] = [];
    if (limit <= 0) return items;
    for await (const item of this) {
      items.push(item);
      if (items.length >= limit) break;
    }
    return items;
  }
}
