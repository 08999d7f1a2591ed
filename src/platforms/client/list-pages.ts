import { createHash } from "node:crypto";
import { SECOND } from "../../runtime/durations.ts";
import { asObject, type Fields, textOf } from "../bodies.ts";
import { unusableAnswer } from "../errors/failure.ts";
import type { PlatformCall } from "./call.ts";
import type { PlatformClient } from "./client.ts";

export interface ListPageRequest {
  limit?: number | undefined;
  after?: string | undefined;
  before?: string | undefined;
  /** Aborted when the page is no longer needed. */
  signal?: AbortSignal | undefined;
}

/** A page of a platform's list. The platform's links are not exposed because they contain the token. */
export interface PlatformListPage {
  items: Fields[];
  before: string | null;
  after: string | null;
  /** Whether the list goes on in the requested direction. */
  hasMore: boolean;
}

type ListCall = Omit<PlatformCall, "effect" | "method">;

export async function readListPage(
  client: PlatformClient,
  call: ListCall,
  { limit, after, before, signal }: ListPageRequest,
): Promise<PlatformListPage> {
  const query = { ...call.query, limit, after, before };
  const body = await client.callOrThrow({ ...call, effect: "read", method: "GET", query, signal });
  return toListPage(body, { isBackward: before !== undefined });
}

function toListPage(body: unknown, { isBackward }: { isBackward: boolean }): PlatformListPage {
  const { data, paging } = asObject(body);
  if (!Array.isArray(data)) throw unusableAnswer("The platform's response is not a list");
  const { cursors, next, previous } = asObject(paging);
  const { before, after } = asObject(cursors);
  return {
    items: data.map(asObject),
    before: textOf(before) ?? cursorIn(textOf(previous), "before") ?? null,
    after: textOf(after) ?? cursorIn(textOf(next), "after") ?? null,
    hasMore: textOf(isBackward ? previous : next) !== undefined,
  };
}

/** Some pages have a `next` or `previous` link but no cursors. */
const cursorIn = (link: string | undefined, name: "after" | "before"): string | undefined =>
  (link !== undefined && URL.canParse(link) && new URL(link).searchParams.get(name)) || undefined;

interface ListBounds {
  maxPages: number;
  /** For all pages together. */
  timeoutMs: number;
}

/** For a list whose pages are handed on one by one. */
const STREAMED_LIST: ListBounds = { maxPages: 100_000, timeoutMs: Number.POSITIVE_INFINITY };

/** For a list that is held in memory, while an API request may be waiting. */
const COLLECTED_LIST: ListBounds = { maxPages: 1_000, timeoutMs: 60 * SECOND };

/** Returns the cursor of the page after this one; throws when the list may not end. */
type FollowCursor = (page: PlatformListPage) => string;

/** Follows one list: a missing or repeated cursor, or one beyond the bounds, is an error. */
function createCursorFollower({ maxPages, timeoutMs }: ListBounds): FollowCursor {
  const endsAt = Date.now() + timeoutMs;
  const seen = new Set<string>();
  return ({ after }) => {
    // Hashed, because a cursor may have any length.
    const hash = after === null ? "" : createHash("sha256").update(after).digest("base64");
    if (after === null || seen.has(hash) || seen.size + 1 >= maxPages)
      throw unusableAnswer("The platform's list does not end");
    if (Date.now() > endsAt) throw unusableAnswer("Reading the platform's list took too long");
    seen.add(hash);
    return after;
  };
}

/** Reads a page when it is asked for, until there is no next one; a page may be short or empty and still have one. */
export async function* eachListPage(
  read: (after: string | undefined) => Promise<PlatformListPage>,
  bounds = STREAMED_LIST,
): AsyncGenerator<PlatformListPage, void, undefined> {
  const nextCursor = createCursorFollower(bounds);
  let page = await read(undefined);
  yield page;
  while (page.hasMore) {
    page = await read(nextCursor(page));
    yield page;
  }
}

/** Reads like eachListPage and yields the items of each page only. */
export async function* eachPageOfItems(
  read: Parameters<typeof eachListPage>[0],
): AsyncGenerator<readonly Fields[], void, undefined> {
  for await (const { items } of eachListPage(read)) yield items;
}

export const readAllListPages = (client: PlatformClient, call: ListCall, limit = 100): Promise<Fields[]> =>
  readAllItems((after) => readListPage(client, call, { limit, after }));

/** Reads the items of all pages. */
export async function readAllItems(read: Parameters<typeof eachListPage>[0]): Promise<Fields[]> {
  const items: Fields[] = [];
  for await (const page of eachListPage(read, COLLECTED_LIST))
    for (const item of page.items) items.push(item);
  return items;
}

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
