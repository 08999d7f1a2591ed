import type { Call } from "./call.ts";
import { invalidParameter } from "./graph-error.ts";

interface ListPageOptions<T> {
  /** Filters each page after it is cut, so a page can be short or empty and still have a next page. */
  isVisible?: (item: T) => boolean;
  /** Upper bound for `limit`. */
  maxLimit?: number;
}

interface ListPage {
  data: unknown[];
  paging?: { cursors: { before: string; after: string }; next?: string; previous?: string };
}

const toCursor = (index: number) => Buffer.from(`at:${index}`).toString("base64url");

function fromCursor(text: string): number {
  const index = /^at:(\d{1,9})$/.exec(Buffer.from(text, "base64url").toString())?.[1];
  if (index === undefined) throw invalidParameter("Invalid cursors values");
  return Number(index);
}

/**
 * Returns one page of a list by the caller's `limit`, `after` and `before`. Every page with items has
 * cursors; the last page has no `next`.
 */
export function toListPage<T>(
  call: Call,
  items: readonly T[],
  show: (item: T) => unknown,
  { isVisible = () => true, maxLimit = 25 }: ListPageOptions<T> = {},
): ListPage {
  const limit = Math.min(call.params.integer("limit") ?? 25, maxLimit);
  if (limit < 1) throw invalidParameter("Param limit must be greater than or equal to 1");
  const [after, before] = [call.params.text("after"), call.params.text("before")];
  const start =
    after !== undefined
      ? fromCursor(after) + 1
      : before !== undefined
        ? Math.max(0, fromCursor(before) - limit)
        : 0;
  const end = before === undefined ? start + limit : Math.min(start + limit, fromCursor(before));
  const slice = items.slice(start, end);
  const data = slice.filter(isVisible).map(show);
  if (slice.length === 0) return { data };
  const cursors = { before: toCursor(start), after: toCursor(start + slice.length - 1) };
  return {
    data,
    paging: {
      cursors,
      ...(start + slice.length < items.length ? { next: pageUrl(call, { after: cursors.after }) } : {}),
      ...(start > 0 ? { previous: pageUrl(call, { before: cursors.before }) } : {}),
    },
  };
}

/** Builds the URL of another list page; it contains the token, like the platform's. */
function pageUrl({ address, params, token }: Call, cursor: Record<string, string>): string {
  const url = new URL(address);
  for (const name of params.names()) {
    if (["after", "before", "access_token"].includes(name)) continue;
    url.searchParams.set(name, params.text(name) as string);
  }
  for (const [name, value] of Object.entries({ access_token: token, ...cursor }))
    url.searchParams.set(name, value);
  return url.href;
}
