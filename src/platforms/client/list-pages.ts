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

/** A page of a platform's list. The platform's `next` link is not exposed because it contains the token. */
export interface PlatformListPage {
  items: Fields[];
  before: string | null;
  after: string | null;
  hasMore: boolean;
}

type ListCall = Omit<PlatformCall, "effect" | "method">;

export async function readListPage(
  client: PlatformClient,
  call: ListCall,
  { limit, after, before, signal }: ListPageRequest,
): Promise<PlatformListPage> {
  const query = { ...call.query, limit, after, before };
  return toListPage(await client.callOrThrow({ ...call, effect: "read", method: "GET", query, signal }));
}

function toListPage(body: unknown): PlatformListPage {
  const { data, paging } = asObject(body);
  if (!Array.isArray(data)) throw unusableAnswer("The platform's response is not a list");
  const { cursors, next } = asObject(paging);
  const { before, after } = asObject(cursors);
  return {
    items: data.map(asObject),
    before: textOf(before) ?? null,
    after: textOf(after) ?? cursorIn(textOf(next)) ?? null,
    hasMore: textOf(next) !== undefined,
  };
}

/** Some pages have a `next` link but no cursors. */
const cursorIn = (next: string | undefined): string | undefined =>
  (next !== undefined && URL.canParse(next) && new URL(next).searchParams.get("after")) || undefined;

/** Returns the cursor of the next page; throws when it is missing or was `seen` before, because the list would not end. */
export function nextCursor({ after }: PlatformListPage, seen: Set<string>): string {
  if (after === null || seen.has(after)) throw endlessList();
  seen.add(after);
  return after;
}

const endlessList = () => unusableAnswer("The platform's list does not end");

/** Reads a page when it is asked for, until there is no next one; a page may be short or empty and still have one. */
export async function* eachListPage(
  read: (after: string | undefined) => Promise<PlatformListPage>,
): AsyncGenerator<PlatformListPage, void, undefined> {
  const seen = new Set<string>();
  let page = await read(undefined);
  yield page;
  while (page.hasMore) {
    page = await read(nextCursor(page, seen));
    yield page;
  }
}

/** Reads like eachListPage and yields the items of each page only. */
export async function* eachPageOfItems(
  read: Parameters<typeof eachListPage>[0],
): AsyncGenerator<readonly Fields[], void, undefined> {
  for await (const { items } of eachListPage(read)) yield items;
}

const MAX_PAGES = 1_000;
/** Limits the time for all pages together, because an API request may be waiting. */
const READ_ALL_TIMEOUT_MS = 60 * SECOND;

export async function readAllListPages(
  client: PlatformClient,
  call: ListCall,
  limit = 100,
): Promise<Fields[]> {
  const items: Fields[] = [];
  const endsAt = Date.now() + READ_ALL_TIMEOUT_MS;
  let pages = 0;
  for await (const page of eachListPage((after) => readListPage(client, call, { limit, after }))) {
    for (const item of page.items) items.push(item);
    pages += 1;
    if (!page.hasMore) break;
    if (Date.now() > endsAt) throw unusableAnswer("Reading the platform's list took too long");
    if (pages > MAX_PAGES) throw endlessList();
  }
  return items;
}
