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
  /** The operator who held it; null when it is not, or was by an earlier version. */
  by: string | null;
  reason: string | null;
}

const NOT_HELD: QueueHoldState = { held: false, since: null, by: null, reason: null };

const READ = sql(`
  select since, held_by as by, reason
  from queue_hold`);

const HOLD = sql(`
  insert into queue_hold (id, held_by, reason)
  values (true, $1, $2)
  on conflict (id) do nothing
  returning since`);

const RELEASE = sql("delete from queue_hold");

export async function readQueueHold(db: Queryable): Promise<QueueHoldState> {
  const [row] = await db.query<Omit<QueueHoldState, "held">>(READ);
  return row ? { held: true, ...row } : NOT_HELD;
}

/** Holds the queue; false when it is already held, which stays as it is. */
export async function holdQueue(
  db: Queryable,
  { by, reason }: { by: string; reason?: string | undefined },
): Promise<boolean> {
  const rows = await db.query(HOLD, [by, reason ?? null]);
  return rows.length > 0;
}

export async function releaseQueue(db: Queryable): Promise<QueueHoldState> {
  await db.query(RELEASE);
  return readQueueHold(db);
}

/** For people: since when the queue is held, by whom and why. */
export const describeHold = ({ since, by, reason }: QueueHoldState): string =>
  `held since ${since?.toISOString()}${by === null ? "" : ` by ${by}`}${reason === null ? "" : `: ${reason}`}`;
