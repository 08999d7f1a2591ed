import { type Queryable, sql } from "../database/database.ts";
import { IS_HELD } from "./queue-hold.ts";

export type SweptQueue = "deliveries" | "sends";

const LOCK = sql(`
  select
    pg_try_advisory_xact_lock(hashtext('herald:sweep ' || $1::text)) as "isLocked",
    ${IS_HELD} as "isHeld"`);

interface SweepLock {
  /** False while another process sweeps the queue. */
  isLocked: boolean;
  /** True while an operator holds the queue: the sweep then queues nothing. */
  isHeld: boolean;
}

/** The lock ends with the transaction: a session lock would leak through a pooler. */
export async function lockSweep(tx: Queryable, queue: SweptQueue): Promise<SweepLock> {
  const [row] = await tx.query<SweepLock>(LOCK, [queue]);
  return row as SweepLock;
}
