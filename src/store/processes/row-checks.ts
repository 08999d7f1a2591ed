import { type Queryable, sql } from "../database/database.ts";

/**
 * Everything here spans all clients: rows that a job checks, with client_id, id, deaths and quarantined_at. `deaths` counts
 * the checks in a row that began and did not end:
 * 0: the row is checked together with others. The statement that claims it adds 1, END_CHECK sets 0 again.
 * 1 or 2: the row is a suspect, unless its check is in flight. It is checked alone, after the others.
 * 3: the row is no longer checked. The next run sets quarantined_at and logs it.
 */
type CheckedTable = "ad_connections" | "insights_reports";

const MAX_CHECK_DEATHS = 3;

/** SQL with literals: with parameters Postgres would not use the partial indexes of rows with deaths. */
export const HAS_NO_DEATHS = "deaths = 0";
export const IS_CHECKED_ALONE = `deaths between 1 and ${MAX_CHECK_DEATHS - 1}`;
export const IS_CHECKED = `deaths < ${MAX_CHECK_DEATHS}`;
export const END_CHECK = "deaths = 0, quarantined_at = null";

interface QuarantinedRow {
  client: string;
  id: string;
  deaths: number;
}

/** Called when a run begins. Returns each row once. */
export const quarantineRows = (db: Queryable, table: CheckedTable): Promise<QuarantinedRow[]> =>
  db.query<QuarantinedRow>(`
    update ${table}
    set quarantined_at = now()
    where deaths >= ${MAX_CHECK_DEATHS}
    and quarantined_at is null
    returning client_id as client, id, deaths`);

const countStatement = (table: CheckedTable) => `(
    select count(*)::integer
    from ${table}
    where deaths >= ${MAX_CHECK_DEATHS}
    and quarantined_at is not null
  )`;

const COUNT_QUARANTINED = sql(`
  select ${countStatement("ad_connections")} as tokens, ${countStatement("insights_reports")} as reports`);

/** Returns the number of quarantined rows of each job. */
export async function countQuarantinedRows(db: Queryable): Promise<{ tokens: number; reports: number }> {
  const [row] = await db.query<{ tokens: number; reports: number }>(COUNT_QUARANTINED);
  return row as { tokens: number; reports: number };
}
