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
  /** Sorts after every id. */
  maxId: string;
}

/**
 * A list ordered by time-ordered ids, newest first: `select` ends in its conditions, in which $1 is the client and $4
 * and up are filters. Each page is a range of the index, however deep it lies.
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

const MAX_ID = "\x7f";

/** For a list whose ids are UUIDs; their texts sort as they do. */
export const MAX_UUID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

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
    before === undefined ? [statements.forwards, after ?? statements.maxId] : [statements.backwards, before];
  return db.query<Row>(statement, [clientId, position, limit + 1, ...filters]);
}
