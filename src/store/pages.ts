import { type Queryable, type Statement, sql } from "./database.ts";

/** Which rows of a list are wanted: at most `limit`, after or before a position. */
export interface PageRequest {
  limit: number;
  after?: string;
  before?: string;
}

export interface PageStatements {
  forwards: Statement;
  backwards: Statement;
}

/**
 * A list ordered by time-ordered ids, newest first: `select` ends in its conditions, in which $1 is the client and $4
 * and up are filters. Each page is a range of the index, however deep it lies.
 */
export const byNewest = (select: string): PageStatements => ({
  forwards: sql(`${select}
  and id < $2
  order by id desc
  limit $3`),
  backwards: sql(`${select}
  and id > $2
  order by id
  limit $3`),
});

/** Sorts after every id. */
const NEWEST = "\x7f";

/** One row more than the limit, if there is one, so that the caller knows whether the list goes on. */
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
    before === undefined ? [statements.forwards, after ?? NEWEST] : [statements.backwards, before];
  return db.query<Row>(statement, [clientId, position, limit + 1, ...filters]);
}
