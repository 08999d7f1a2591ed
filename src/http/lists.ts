import { describePeriodProblem, type PeriodInput, readPeriod } from "../schema/times.ts";
import { nullable, object, type TProperties, type TSchema, Type } from "../schema/types.ts";
import type { Signer } from "../security/signatures-and-states.ts";
import type { PageRequest } from "../store/database/paging.ts";
import { invalidField } from "./api-error.ts";

/** A list page with positions that are not encoded as cursors yet. */
export interface ListPage<T> {
  data: T[];
  before: string | null;
  after: string | null;
  hasMore: boolean;
}

interface PageLimits {
  maxLimit?: number;
  defaultLimit?: number;
}

const cursor = (description: string) =>
  Type.String({ description, examples: ["MjAyNi0xMS0wMVQwOTozMDowMFo.m3Vw8kPq2rT5yXb7"] });

/** The query of a list: its filters and the paging parameters of all lists. */
export const listQuery = <P extends TProperties>(
  filters: P,
  { maxLimit = 100, defaultLimit = 25 }: PageLimits = {},
) =>
  object({
    ...filters,
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: maxLimit,
        default: defaultLimit,
        description: "Maximum number of items per page",
      }),
    ),
    after: Type.Optional(cursor("Cursor: return the items after it. Cannot be combined with `before`")),
    before: Type.Optional(cursor("Cursor: return the items before it. Cannot be combined with `after`")),
  });

const paging = object(
  {
    cursors: object({
      before: nullable(cursor("Pass it as `before` to get the items that precede this page")),
      after: nullable(cursor("Pass it as `after` to get the items that follow this page")),
    }),
    has_more: Type.Boolean({ description: "Whether there are more items in the requested direction" }),
  },
  { title: "Paging" },
);

/** The reply of a list. `extraFields` are added beside `data`. */
export const listOf = <S extends TSchema, P extends TProperties = Record<never, never>>(
  item: S,
  extraFields?: P,
) =>
  object({
    data: Type.Array(item),
    paging,
    ...(extraFields as P),
  });

interface PagingQuery {
  limit?: number;
  after?: string;
  before?: string;
}

/** Decodes the cursors of a list query. Validation has already filled in the default limit. */
export function pageRequest(query: PagingQuery, cursors: Cursors): PageRequest {
  if (query.after !== undefined && query.before !== undefined)
    throw invalidField("/before", "after and before are mutually exclusive");
  return {
    limit: query.limit as number,
    ...(query.after === undefined ? {} : { after: cursors.decode(query.after, "after") }),
    ...(query.before === undefined ? {} : { before: cursors.decode(query.before, "before") }),
  };
}

type PeriodOf<G> = { [F in keyof Pick<G, keyof G & keyof PeriodInput>]: Date };

/** Parses `since` and `until`; throws a 400 that names the invalid one. */
export function periodOf<G extends PeriodInput>(given: G): PeriodOf<G> {
  const period = readPeriod(given);
  if ("field" in period) throw invalidField(`/${period.field}`, describePeriodProblem(period));
  return period as PeriodOf<G>;
}

/** The list page with encoded cursors. */
export const listReply = <T>(page: ListPage<T>, cursors: Cursors) => ({
  data: page.data,
  paging: {
    cursors: { before: encodePosition(page.before, cursors), after: encodePosition(page.after, cursors) },
    has_more: page.hasMore,
  },
});

const encodePosition = (position: string | null, cursors: Cursors) =>
  position === null ? null : cursors.encode(position);

/**
 * Builds a list page from up to `limit + 1` rows, read in the requested direction. `before` reads backwards,
 * so its rows arrive reversed; `has_more` refers to that direction too.
 */
export function pageOf<T>(
  rows: readonly T[],
  request: PageRequest,
  positionOf: (row: T) => string,
): ListPage<T> {
  const pageRows = rows.slice(0, request.limit);
  const data = request.before === undefined ? pageRows : pageRows.reverse();
  const [first, last] = [data[0], data.at(-1)];
  return {
    data,
    before: first === undefined ? null : positionOf(first),
    after: last === undefined ? null : positionOf(last),
    hasMore: rows.length > request.limit,
  };
}

/** The reply of a list ordered by id, from up to `limit + 1` rows. */
export const listById = <R, T extends { id: string }>(
  rows: readonly R[],
  toItem: (row: R) => T,
  { page, cursors }: { page: PageRequest; cursors: Cursors },
) =>
  listReply(
    pageOf(rows.map(toItem), page, ({ id }) => id),
    cursors,
  );

/** Encodes list positions as opaque cursors. */
export interface Cursors {
  encode(position: string): string;
  /** Returns the position, or throws a 400 that names the query parameter `field`. */
  decode(cursor: string, field: string): string;
}

/** Cursors are signed for one client and one list; any other cursor is rejected. */
export function bindCursors(signer: Signer, clientId: string, list: string): Cursors {
  const message = (position: string) => JSON.stringify([clientId, list, position]);
  return {
    encode: (position) => `${toBase64Url(position)}.${signer.sign(message(position))}`,
    decode(cursor, field) {
      const [text = "", signature = "", ...rest] = cursor.split(".");
      const position = Buffer.from(text, "base64url").toString();
      // The base64 decoder is lenient: encoding again rejects every form but the canonical one.
      const isValid =
        rest.length === 0 && toBase64Url(position) === text && signer.verify(message(position), signature);
      if (!isValid) throw cursorOfOtherList(field);
      return position;
    },
  };
}

/** Binds cursors to the filters of a list: in a list with other filters their positions would be wrong. */
export function bindToFilters(cursors: Cursors, filters: readonly unknown[]): Cursors {
  const key = JSON.stringify(filters);
  return {
    encode: (position) => cursors.encode(JSON.stringify([key, position])),
    decode(cursor, field) {
      const [boundKey, position] = JSON.parse(cursors.decode(cursor, field));
      if (boundKey !== key) throw cursorOfOtherList(field);
      return position;
    },
  };
}

const cursorOfOtherList = (field: string) =>
  invalidField(`/${field}`, `${field} is not a cursor of this list`);

const toBase64Url = (position: string) => Buffer.from(position).toString("base64url");
