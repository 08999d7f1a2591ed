import { type Queryable, sql } from "./database.ts";

const NOW = sql("select clock_timestamp() as now");

/** What the database's own clock says. */
export async function databaseTime(db: Queryable): Promise<Date> {
  const [row] = await db.query<{ now: Date }>(NOW);
  return (row as { now: Date }).now;
}
