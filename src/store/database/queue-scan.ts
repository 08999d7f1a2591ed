import { SECOND } from "../../runtime/durations.ts";
import { type Database, type Queryable, type Statement, sql } from "./database.ts";
import { isStatementTimeout } from "./faults.ts";

/**
 * A read of the rows of a queue table that need work. While any snapshot in the database is old (a backup reads for an hour), the
 * indexes keep an entry of each row that was finished since, and a statement reads over all of them.
 * indexed: the statement uses the indexes. Postgres ends it after MAX_READ_MS; then the next reads are paged.
 * paged: each read takes the last pages of the table, which have the new versions of rows, and the next pages of a round over the
 * others. After a round it is indexed again, at the earliest after MIN_PAGED_MS.
 */
export interface QueueScan<Row> {
  /** Both statements have these parameters. Those of the paged one are followed by the bounds of the pages. */
  read(values: readonly unknown[]): Promise<Row[]>;
}

export interface ScanLimits {
  maxReadMs?: number;
  maxPages?: number;
}

interface ScanParts {
  table: "delivery_queue" | "sends";
  indexed: Statement;
  paged: Statement;
}

/** With the pages that are read instead, a read takes about 50 ms then. */
const MAX_READ_MS = 30;
/** 16 MB in each read. Half of them are the last pages. */
const MAX_PAGES = 2_000;
const MIN_PAGED_MS = 5 * SECOND;

/** Postgres would compile these plans, which look expensive, for a second and more: they run for milliseconds. */
const WITHOUT_JIT = "set local jit = off";

/** SQL: these columns of the rows in the pages from the parameter `first` on to the next one, and from the third one on. */
export const selectPages = (table: ScanParts["table"], columns: string, first: number): string => `
    select ${columns}
    from ${table}
    where ctid >= $${first}::text::tid
    and ctid < $${first + 1}::text::tid
    union all
    select ${columns}
    from ${table}
    where ctid >= $${first + 2}::text::tid`;

export function createQueueScan<Row extends object>(
  db: Database,
  { table, indexed, paged }: ScanParts,
  { maxReadMs = MAX_READ_MS, maxPages = MAX_PAGES }: ScanLimits = {},
): QueueScan<Row> {
  /** The first page that the next read of the round takes; undefined when reads are indexed. */
  let nextPage: number | undefined;
  let pagedSince = 0;

  async function readPages(values: readonly unknown[], from: number): Promise<Row[]> {
    const { rows, to, tail } = await db.transaction(async (tx) => {
      await tx.query(WITHOUT_JIT);
      const pages = await countPages(tx, table);
      const tail = Math.max(0, pages - Math.floor(maxPages / 2));
      const to = Math.min(tail, from + Math.ceil(maxPages / 2));
      return { rows: await tx.query<Row>(paged, [...values, ...[from, to, tail].map(firstRowOf)]), to, tail };
    });
    const isRoundOver = to >= tail;
    const isLongEnough = performance.now() - pagedSince >= MIN_PAGED_MS;
    nextPage = isRoundOver ? (isLongEnough ? undefined : 0) : to;
    return rows;
  }

  return {
    async read(values) {
      if (nextPage !== undefined) return readPages(values, nextPage);
      try {
        const read = async (tx: Queryable) => {
          await tx.query(WITHOUT_JIT);
          return tx.query<Row>(indexed, values);
        };
        return await db.transaction(read, { statementMs: maxReadMs });
      } catch (error) {
        if (!isStatementTimeout(error)) throw error;
        pagedSince = performance.now();
        return readPages(values, 0);
      }
    },
  };
}

const firstRowOf = (page: number): string => `(${page},0)`;

const COUNT_PAGES = sql(
  "select (pg_relation_size($1::regclass) / current_setting('block_size')::integer)::integer as pages",
);

async function countPages(db: Queryable, table: string): Promise<number> {
  const [row] = await db.query<{ pages: number }>(COUNT_PAGES, [table]);
  return row?.pages ?? 0;
}
