import { type PeriodInput, readPeriod } from "../schema/period.ts";
import { nullable, object, type TProperties, type TSchema, Type } from "../schema/types.ts";
import type { PageRequest } from "../store/database/paging.ts";
import { invalidField } from "./api-error.ts";
import type { Cursors } from "./cursors.ts";

/** What a list answers, its positions still in clear. */
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

/** A position in a list, as callers see it. */
const cursor = (description: string) =>
  Type.String({ description, examples: ["MjAyNi0xMS0wMVQwOTozMDowMFo.m3Vw8kPq2rT5yXb7"] });

/** The query of a list: its own filters and the paging that all lists share. */
export const listQuery = <P extends TProperties>(
  filters: P,
  { maxLimit = 100, defaultLimit = 25 }: PageLimits = {},
) =>
  object({
    ...filters,
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: maxLimit, default: defaultLimit, description: "Rows per page" }),
    ),
    after: Type.Optional(cursor("Cursor: rows that follow it")),
    before: Type.Optional(cursor("Cursor: rows that precede it")),
  });

const paging = object(
  {
    cursors: object({
      before: nullable(cursor("Ask with it as `before` for the rows that precede these")),
      after: nullable(cursor("Ask with it as `after` for the rows that follow these")),
    }),
    has_more: Type.Boolean({ description: "Whether there are more rows in the direction asked for" }),
  },
  { title: "Paging" },
);

/** The reply of a list. `extraFields` are fields that stand next to `data`. */
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

/** Opens the cursors of a list's query, whose schema has filled in the limit. */
export function pageRequest(query: PagingQuery, cursors: Cursors): PageRequest {
  if (query.after !== undefined && query.before !== undefined)
    throw invalidField("/before", "after and before are mutually exclusive");
  return {
    limit: query.limit as number,
    ...(query.after === undefined ? {} : { after: cursors.decode(query.after, "after") }),
    ...(query.before === undefined ? {} : { before: cursors.decode(query.before, "before") }),
  };
}

/** Its times as such, each optional where it was. */
type PeriodOf<G> = { [F in keyof Pick<G, keyof G & keyof PeriodInput>]: Date };

/** The times of a request, or 400 naming the one that is wrong. */
export function periodOf<G extends PeriodInput>(given: G): PeriodOf<G> {
  const period = readPeriod(given);
  if ("field" in period) throw invalidField(`/${period.field}`, `${period.field} ${period.problem}`);
  return period as PeriodOf<G>;
}

/** The wire form of a page. */
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
 * Makes a page of rows that were read one further than the limit, in the direction asked for: `before` walks backwards,
 * so its rows arrive reversed. `has_more` speaks of that same direction.
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

/** The reply of a list that is ordered by id, of rows that were read one further than the limit. */
export const listById = <R, T extends { id: string }>(
  rows: readonly R[],
  toItem: (row: R) => T,
  { page, cursors }: { page: PageRequest; cursors: Cursors },
) =>
  listReply(
    pageOf(rows.map(toItem), page, ({ id }) => id),
    cursors,
  );
