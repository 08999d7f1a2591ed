import { type Queryable, type Statement, sql } from "./database.ts";

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
