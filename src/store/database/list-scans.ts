/**
 * Plans of lists that do not depend on statistics: Postgres has none of a partition before its first ANALYZE, and
 * then expects hardly any match of a filter. A list scans the index of one filter in the order of ids.
 */
import type { Database, Queryable } from "./database.ts";

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
  { order, rangeOf, values }: ProbeOptions,
): Promise<Filter | undefined> {
  if (filters.length < 2) return filters[0];
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
  return filters[farthest(row?.reached ?? [], order)];
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
