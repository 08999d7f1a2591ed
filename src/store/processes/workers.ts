import { MAX_LEASE_MS, WORKER_DEAD_AFTER_MS } from "../../runtime/deadlines.ts";
import { type Queryable, sql } from "../database/database.ts";

const RECORD_HEARTBEAT = sql(`
  with recorded as (
    insert into workers (id, process)
    values ($1, $2)
    on conflict (id) do update
    set heartbeat_at = now()
  )
  select 1 + count(*)::integer as alive
  from workers
  where process = $2
  and id <> $1
  and heartbeat_at > now() - $3 * interval '1 millisecond'`);

const REMOVE = sql(`
  delete from workers
  where id = $1`);

const DELETE_DEAD = sql(`
  delete from workers
  where heartbeat_at < now() - $1 * interval '1 millisecond'
  returning id`);

/** Records a heartbeat; the first call inserts the worker. Returns how many workers of the process are alive. */
export async function recordHeartbeat(db: Queryable, id: string, process: string): Promise<number> {
  const [row] = await db.query<{ alive: number }>(RECORD_HEARTBEAT, [id, process, WORKER_DEAD_AFTER_MS]);
  return row?.alive ?? 1;
}

export async function removeWorker(db: Queryable, id: string): Promise<void> {
  await db.query(REMOVE, [id]);
}

/** Deletes workers without a heartbeat for `silentForMs` milliseconds; returns how many. */
export async function deleteDeadWorkers(db: Queryable, silentForMs: number): Promise<number> {
  const rows = await db.query(DELETE_DEAD, [silentForMs]);
  return rows.length;
}

const READ_STATES = sql(`
  select
    p.process,
    count(w.id) filter (where w.is_alive)::integer as running,
    (array_agg(w.id order by w.heartbeat_at desc) filter (where not w.is_alive))[1] as killed_id,
    max(w.heartbeat_at) filter (where not w.is_alive) as killed_after
  from unnest($1::text[]) with ordinality as p (process, position)
  left join (
    select *, heartbeat_at > now() - $2 * interval '1 millisecond' as is_alive
    from workers
  ) w on w.process = p.process
  group by p.process, p.position
  order by p.position`);

/** The processes that work on the queue and on the jobs. */
const WORKER_PROCESSES = ["dispatcher", "scheduler"] as const;

export interface WorkerState {
  process: (typeof WORKER_PROCESSES)[number];
  running: number;
  /** The last worker that ended without a stop: an orderly stop removes its row, and the maintenance does so after a day. */
  killed_id: string | null;
  /** Its last heartbeat. */
  killed_after: Date | null;
}

export const readWorkerStates = (db: Queryable): Promise<WorkerState[]> =>
  db.query<WorkerState>(READ_STATES, [WORKER_PROCESSES, WORKER_DEAD_AFTER_MS]);

/** For people: how many are running, and what became of the last one when none is. */
export function describeWorkers({ running, killed_id, killed_after }: WorkerState): string {
  if (running > 0) return `${running} running`;
  if (killed_id === null) return "none is running";
  return `none is running: ${killed_id} ended without a stop after ${killed_after?.toISOString()}`;
}

/** Limits after which a lease has expired. */
export interface LeaseLimits {
  /** Milliseconds after which a worker without a heartbeat is dead. */
  deadAfter: number;
  /** Milliseconds that a lease lasts at most, even if its worker is alive. */
  maxLeaseMs: number;
}

export const LEASE_LIMITS: LeaseLimits = { deadAfter: WORKER_DEAD_AFTER_MS, maxLeaseMs: MAX_LEASE_MS };

/**
 * SQL: the owner of a lease, the time of its claim, and the milliseconds without a heartbeat that mean death.
 */
interface LeaseSql {
  worker: string;
  claimedAt: string;
  deadAfter: string;
}

/**
 * SQL: true when the owner is dead. A recent claim counts as a heartbeat: a worker that could not reach the
 * database may claim before its next heartbeat. With null as `deadAfter` no worker is dead.
 */
export const isLeaseOfDeadWorker = ({ worker, claimedAt, deadAfter }: LeaseSql): string => `
      ${claimedAt} < now() - ${deadAfter} * interval '1 millisecond' and not exists (
        select
        from workers w
        where w.id = ${worker}
        and w.heartbeat_at > now() - ${deadAfter} * interval '1 millisecond'
      )`;

/** SQL: true when the lease of a claimed row has expired; $1 is deadAfter, $2 is maxLeaseMs. */
export const isLeaseExpired = (row: string): string => `(
      ${row}.claimed_at < now() - $2 * interval '1 millisecond'
      or ${isLeaseOfDeadWorker({ worker: `${row}.worker_id`, claimedAt: `${row}.claimed_at`, deadAfter: "$1" })}
    )`;

/**
 * SQL: the deaths of a row whose lease has expired; $1 is deadAfter. A worker counts that stopped its heartbeats and did not
 * remove itself. One that is alive, or that was stopped in order, lost the answer to its claim and did not process the row.
 */
export const deathsAfterExpiry = (row: string): string => `${row}.deaths + exists (
      select
      from workers w
      where w.id = ${row}.worker_id
      and w.heartbeat_at <= now() - $1 * interval '1 millisecond'
    )::integer`;

/**
 * A claimed row counts a death when its worker dies, because the row may be the cause. With SUSPECT_DEATHS it is
 * a suspect and processed alone, so that other rows do not share its deaths. With MAX_DEATHS it is quarantined
 * and no longer processed.
 */
export const SUSPECT_DEATHS = 2;
export const MAX_DEATHS = 5;

/** SQL with literals: with parameters Postgres would not use the partial indexes of suspects. */
export const IS_SUSPECT = `deaths >= ${SUSPECT_DEATHS}`;
export const IS_NOT_SUSPECT = `deaths < ${SUSPECT_DEATHS}`;
export const IS_QUARANTINED = `deaths >= ${MAX_DEATHS}`;
export const IS_NOT_QUARANTINED = `deaths < ${MAX_DEATHS}`;

const LOCK = sql(
  "select pg_try_advisory_xact_lock(hashtext('herald:recovery ' || $1::text)) as \"isLocked\"",
);

/**
 * False while another process does this work of the recovery. The lock ends with the transaction: a session lock would leak
 * through a pooler.
 */
export async function lockRecovery(tx: Queryable, work: "deliveries" | `sends ${string}`): Promise<boolean> {
  const [row] = await tx.query<{ isLocked: boolean }>(LOCK, [work]);
  return row?.isLocked ?? false;
}
