import { type Queryable, sql } from "../database/database.ts";

export type SweptQueue = "deliveries" | "sends";

const LOCK = sql("select pg_try_advisory_xact_lock(hashtext('herald:sweep ' || $1::text)) as locked");

/**
 * False while another process sweeps the queue. The lock ends with the transaction: a session lock would leak
 * through a pooler.
 */
export async function lockSweep(tx: Queryable, queue: SweptQueue): Promise<boolean> {
  const [row] = await tx.query<{ locked: boolean }>(LOCK, [queue]);
  return row?.locked ?? false;
}
