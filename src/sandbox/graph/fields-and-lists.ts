import { GraphError, invalidParameter } from "./graph-error.ts";
import type { Call } from "./node.ts";
import { splitOutsideBraces } from "./params.ts";

type Node = Record<string, unknown>;

/**
 * Selects the requested `fields`; `business{id,name}` also selects inside objects and inside the items of
 * lists, bare or as `{data: [...]}`. The id is always included, and missing fields are omitted.
 */
export function project(
  node: Node,
  fields: readonly string[] | undefined,
  defaultFields: readonly string[],
): Node {
  const words = withoutEmpty(fields);
  const picked: Node = {};
  for (const { name, inner } of (words.length === 0 ? defaultFields : words).map(parseField))
    if (node[name] !== undefined) picked[name] = inner ? projectNested(node[name], inner) : node[name];
  if (node.id !== undefined) picked.id = node.id;
  return picked;
}

function projectNested(value: unknown, inner: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => projectNested(item, inner));
  if (typeof value !== "object" || value === null) return value;
  if ("data" in value && Array.isArray(value.data))
    return { ...value, data: projectNested(value.data, inner) };
  return project(value as Node, inner, []);
}

/** Throws for a field that this node type never has, even when the list is empty. */
export function checkFields(
  fields: readonly string[] | undefined,
  type: string,
  known: readonly string[],
): void {
  const unknownField = withoutEmpty(fields)
    .map(parseField)
    .find(({ name }) => name !== "id" && !known.includes(name));
  if (unknownField)
    throw invalidParameter(`Tried accessing nonexisting field (${unknownField.name}) on node type (${type})`);
}

const FIELD_PATTERN = /^(\w+)(?:\{(.*)\})?$/s;

function parseField(word: string): { name: string; inner: string[] | undefined } {
  const [, name, inner] = FIELD_PATTERN.exec(word) ?? [];
  if (name === undefined)
    throw new GraphError(2500, `Syntax error "Expected end of string instead of "${word}"."`);
  return { name, inner: inner === undefined ? undefined : splitFields(inner) };
}

const splitFields = (text: string) => splitOutsideBraces(text).map((word) => word.trim());

const withoutEmpty = (fields: readonly string[] | undefined) => (fields ?? []).filter((word) => word !== "");

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

const toCursor = (index: number) => Buffer.from(`at:${index}`).toString("base64url");

function fromCursor(text: string): number {
  const index = /^at:(\d{1,9})$/.exec(Buffer.from(text, "base64url").toString())?.[1];
  if (index === undefined) throw invalidParameter("Invalid cursors values");
  return Number(index);
}
