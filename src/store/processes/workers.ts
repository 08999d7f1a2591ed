import { MAX_LEASE_MS, WORKER_DEAD_AFTER_MS } from "../../runtime/deadlines.ts";
import { type Queryable, sql } from "../database/database.ts";

const RECORD_HEARTBEAT = sql(`
  insert into workers (id, process)
  values ($1, $2)
  on conflict (id) do update
  set heartbeat_at = now()`);

const REMOVE = sql(`
  delete from workers
  where id = $1`);

const DELETE_SILENT = sql(`
  delete from workers
  where heartbeat_at < now() - $1 * interval '1 millisecond'
  returning id`);

/** Says that the worker lives; the first call makes its row. */
export async function recordHeartbeat(db: Queryable, id: string, process: string): Promise<void> {
  await db.query(RECORD_HEARTBEAT, [id, process]);
}

export async function removeWorker(db: Queryable, id: string): Promise<void> {
  await db.query(REMOVE, [id]);
}

/** Over all workers: drops those that have been silent for `silentForMs` milliseconds, and answers how many. */
export async function deleteSilentWorkers(db: Queryable, silentForMs: number): Promise<number> {
  const rows = await db.query(DELETE_SILENT, [silentForMs]);
  return rows.length;
}

const COUNT_ALIVE = sql(`
  select process, count(*)::integer as count
  from workers
  where heartbeat_at > now() - $1 * interval '1 millisecond'
  group by process`);

/** How many of each process are alive. */
export async function countAliveWorkers(db: Queryable): Promise<Map<string, number>> {
  const rows = await db.query<{ process: string; count: number }>(COUNT_ALIVE, [WORKER_DEAD_AFTER_MS]);
  return new Map(rows.map(({ process, count }) => [process, count]));
}

/** When a lease has expired. */
export interface LeaseLimits {
  /** Milliseconds after which a worker without a heartbeat is dead. */
  deadAfter: number;
  /** Milliseconds that a lease lasts at most, even if its worker is alive. */
  maxLeaseMs: number;
}

export const LEASE_LIMITS: LeaseLimits = { deadAfter: WORKER_DEAD_AFTER_MS, maxLeaseMs: MAX_LEASE_MS };

/** Who has something in hand, since when, and the milliseconds of silence that make them dead; all of it as SQL. */
interface LeaseSql {
  worker: string;
  claimedAt: string;
  deadAfter: string;
}

/**
 * A claim is a sign of life too: who could not reach the database for a while may take something up before their heart beats
 * again. With null for the silence nobody is dead.
 */
export const isLeaseOfDeadWorker = ({ worker, claimedAt, deadAfter }: LeaseSql): string => `
      ${claimedAt} < now() - ${deadAfter} * interval '1 millisecond' and not exists (
        select
        from workers w
        where w.id = ${worker}
        and w.heartbeat_at > now() - ${deadAfter} * interval '1 millisecond'
      )`;

/** Of a row in somebody's hand, with the silence as $1 and $2. */
export const isLeaseExpired = (row: string): string => `(
      ${row}.claimed_at < now() - $2 * interval '1 millisecond'
      or ${isLeaseOfDeadWorker({ worker: `${row}.worker_id`, claimedAt: `${row}.claimed_at`, deadAfter: "$1" })}
    )`;
