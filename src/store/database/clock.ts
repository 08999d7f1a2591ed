import { type Queryable, sql } from "./database.ts";

const NOW = sql("select clock_timestamp() as now");

/** Returns the time of the database's clock. */
export async function databaseTime(db: Queryable): Promise<Date> {
  const [row] = await db.query<{ now: Date }>(NOW);
  return (row as { now: Date }).now;
}
