import { createHash } from "node:crypto";
import { SECOND } from "../../runtime/durations.ts";
import { unusableAnswer } from "../errors/failure.ts";
import type { Fields } from "./body.ts";
import type { PlatformCall } from "./call.ts";
import type { PlatformClient } from "./client.ts";
import { asObject, textOf } from "./json-values.ts";

export interface ListPageRequest {
  limit?: number | undefined;
  after?: string | undefined;
  before?: string | undefined;
  /** Aborted when the page is not needed any more. */
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
export const COLLECTED_LIST: ListBounds = { maxPages: 1_000, timeoutMs: 60 * SECOND };

/** Returns the cursor of the page after this one; throws when the list may not end. */
type FollowCursor = (page: PlatformListPage) => string;

/** Follows one list: a missing or repeated cursor, or one beyond the bounds, is an error. */
export function createCursorFollower({ maxPages, timeoutMs }: ListBounds): FollowCursor {
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
