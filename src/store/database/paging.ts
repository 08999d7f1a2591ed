import { type Database, type Queryable, type Statement, sql } from "./database.ts";

/** Requests at most `limit` rows of a list, after or before a position. */
export interface PageRequest {
  limit: number;
  after?: string;
  before?: string;
}

export interface PageStatements {
  forwards: Statement;
  backwards: Statement;
  /** Sorts after every id. */
  maxId: string;
}

/**
 * Statements of a list ordered by time-ordered ids, newest first. `select` ends in its conditions: $1 is the
 * client, $4 and up are filters. Each page is an index range, however deep it is.
 */
export const byNewest = (select: string, maxId = MAX_ID): PageStatements => ({
  forwards: sql(`${select}
  and id < $2
  order by id desc
  limit $3`),
  backwards: sql(`${select}
  and id > $2
  order by id
  limit $3`),
  maxId,
});

/** Sorts after every id. */
export const MAX_ID = "\x7f";

/** Sorts after every UUID; UUIDs sort like their texts. */
export const MAX_UUID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/**
 * Returns one row more than the limit if there is one, so that the caller knows whether the list continues.
 */
export function readPage<Row extends object>(
  db: Queryable,
  clientId: string,
  {
    page,
    statements,
    filters = [],
  }: { page: PageRequest; statements: PageStatements; filters?: readonly unknown[] },
): Promise<Row[]> {
  const { limit, after, before } = page;
  const [statement, position] =
    before === undefined ? [statements.forwards, after ?? statements.maxId] : [statements.backwards, before];
  return db.query<Row>(statement, [clientId, position, limit + 1, ...filters]);
}

/**
 * Plans of lists that do not depend on statistics: Postgres has none of a partition before its first ANALYZE, and
 * then expects hardly any match of a filter. A list scans the index of one filter in the order of ids.
 */

/** A condition with an index ordered by id. */
export interface IndexedFilter {
  table: string;
  alias: string;
  column: string;
  value: string;
}

export type Order = "asc" | "desc";

interface ProbeOptions {
  order: Order;
  /** The rows to search, by the alias of their table. */
  rangeOf(alias: string): readonly string[];
  values: readonly unknown[];
}

/** Matches of each filter that are read to compare their frequencies. */
const PROBE_ROWS = 1_000;

/** Runs `work` without bitmap scans, which read and sort all matches, and without compiling plans for few rows. */
export const withOrderedScans = <T>(db: Database, work: (tx: Queryable) => Promise<T>): Promise<T> =>
  db.transaction(async (tx) => {
    await tx.query("set local enable_bitmapscan = off; set local jit = off");
    return work(tx);
  });

/** Returns the filter with the rarest matches at the start of the range, by a look into each index. */
export async function findRarest<Filter extends IndexedFilter>(
  tx: Queryable,
  filters: readonly Filter[],
  options: ProbeOptions,
): Promise<Filter | undefined> {
  if (filters.length < 2) return filters[0];
  return filters[farthest(await probe(tx, filters, options), options.order)];
}

/** Returns a filter with at most PROBE_ROWS matches in the range, if there is one. */
export async function findRare<Filter extends IndexedFilter>(
  tx: Queryable,
  filters: readonly Filter[],
  options: ProbeOptions,
): Promise<Filter | undefined> {
  const reached = await probe(tx, filters, options);
  return filters.find((_, index) => reached[index] === null);
}

/** Returns the id that PROBE_ROWS matches of each filter reach; null when there are not more. */
async function probe(
  tx: Queryable,
  filters: readonly IndexedFilter[],
  { order, rangeOf, values }: ProbeOptions,
): Promise<(string | null)[]> {
  const probes = filters.map(
    ({ table, alias, column, value }) => `(
    select ${alias}.id
    from ${table} ${alias}
    where ${[...rangeOf(alias), `${column} = ${value}`].join("\n    and ")}
    order by ${alias}.id ${order}
    offset ${PROBE_ROWS}
    limit 1
  )`,
  );
  const text = `select array[${probes.join(", ")}] as reached`;
  const [row] = await tx.query<{ reached: (string | null)[] }>(text, values);
  return row?.reached ?? [];
}

/** The rarer a filter is, the farther its matches reach: to the end (null) when there are few. */
function farthest(reached: readonly (string | null)[], order: Order): number {
  if (reached.includes(null)) return reached.indexOf(null);
  const sorted = [...reached].sort();
  return reached.indexOf((order === "desc" ? sorted[0] : sorted.at(-1)) as string);
}

/** SQL: `is not distinct from` uses no index, so the planner cannot choose that of a filter which is only checked. */
export const filterCondition = ({ column, value }: IndexedFilter, isScanned: boolean): string =>
  `${column} ${isScanned ? "=" : "is not distinct from"} ${value}`;
