import { type Queryable, sql } from "../database/database.ts";

/**
 * The queue is held or released. An operator holds it: then dispatchers start no send and no delivery, until it is
 * released. The statements that claim rows check it themselves, for dispatchers that have not noticed it yet.
 */

/** SQL: true unless the queue is held. Postgres evaluates it once per statement. */
export const IS_NOT_HELD = "not exists (select from queue_hold)";
export const IS_HELD = "exists (select from queue_hold)";

export interface QueueHoldState {
  held: boolean;
  /** When the queue was held; null when it is not. */
  since: Date | null;
}

const READ = sql(`
  select since
  from queue_hold`);

const HOLD = sql(`
  insert into queue_hold (id)
  values (true)
  on conflict (id) do nothing`);

const RELEASE = sql("delete from queue_hold");

export async function readQueueHold(db: Queryable): Promise<QueueHoldState> {
  const [row] = await db.query<{ since: Date }>(READ);
  return { held: row !== undefined, since: row?.since ?? null };
}

/** Holds the queue; without effect when it is already held. */
export async function holdQueue(db: Queryable): Promise<QueueHoldState> {
  await db.query(HOLD);
  return readQueueHold(db);
}

export async function releaseQueue(db: Queryable): Promise<QueueHoldState> {
  await db.query(RELEASE);
  return readQueueHold(db);
}
