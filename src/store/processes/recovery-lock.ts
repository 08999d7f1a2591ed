import { type Queryable, sql } from "../database/database.ts";

const LOCK = sql(
  "select pg_try_advisory_xact_lock(hashtext('herald:recovery ' || $1::text)) as \"isLocked\"",
);

/**
 * False while another process recovers the queue. The lock ends with the transaction: a session lock would leak through a
 * pooler.
 */
export async function lockRecovery(tx: Queryable, queue: "deliveries" | "sends"): Promise<boolean> {
  const [row] = await tx.query<{ isLocked: boolean }>(LOCK, [queue]);
  return row?.isLocked ?? false;
}
