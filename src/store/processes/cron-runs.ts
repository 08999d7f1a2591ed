import { type Database, type Queryable, sql } from "../database/database.ts";
import { isLeaseOfDeadWorker } from "./workers.ts";

/**
 * SQL: true when the run's worker is dead. The scheduler's own unfinished run counts as abandoned too: it is
 * not running it, because the response to its claim was lost.
 */
const isRunAbandoned = (
  row: string,
  { ownWorker, deadAfter }: { ownWorker: string; deadAfter: string },
): string =>
  isLeaseOfDeadWorker({
    worker: `nullif(${row}.worker, ${ownWorker})`,
    claimedAt: `${row}.started_at`,
    deadAfter,
  });

/** Without the timeout, a scheduler that freezes in the transaction would block the job for hours. */
const LOCK = sql(`
  select
    set_config('idle_in_transaction_session_timeout', '5s', true),
    pg_advisory_xact_lock(hashtext('herald:cron ' || $1::text))`);

/**
 * A unique index allows one unfinished run per job, so an abandoned one is closed before the insert. A
 * scheduler whose current run was taken over claims nothing: no row shows that it is busy.
 */
const CLAIM = sql(`
  with scheduler as materialized (
    select $5::timestamptz is null or exists (
      select
      from cron_runs own
      where own.job = $1
      and own.scheduled_at = $5
      and own.worker = $3
      and own.error is distinct from 'abandoned'
    ) as is_free
  ),
  met as materialized (
    select scheduled_at, worker
    from cron_runs
    where job = $1
    and finished_at is null
  ),
  abandoned as (
    update cron_runs r
    set finished_at = now(), outcome = 'failed', error = 'abandoned'
    from scheduler
    where scheduler.is_free
    and r.job = $1
    and r.finished_at is null
    and r.scheduled_at is distinct from $5
    and ${isRunAbandoned("r", { ownWorker: "$3", deadAfter: "$4" })}
    and not exists (
      select
      from cron_runs same
      where same.job = $1
      and same.scheduled_at = $2
    )
    returning 1 as one
  ),
  claimed as (
    insert into cron_runs (job, scheduled_at, worker, finished_at, outcome)
    select $1, $2, $3, case when found.overlaps then now() end, case when found.overlaps then 'overlapped' end
    from scheduler
    join (
      select exists (select from met) and not exists (select from abandoned) as overlaps
    ) found on scheduler.is_free
    on conflict do nothing
    returning coalesce(outcome, 'claimed') as outcome
  )
  select coalesce(c.outcome, 'busy') as outcome, m.scheduled_at as "scheduledAt", m.worker
  from scheduler
  left join claimed c on true
  left join met m on scheduler.is_free
  where not scheduler.is_free
  or c.outcome is not null`);

export interface Tick {
  job: string;
  scheduledAt: Date;
}

/** The scheduler that claims. */
export interface Claimant {
  worker: string;
  /** Milliseconds without a heartbeat after which another scheduler is dead; null while it cannot judge. */
  deadAfter: number | null;
}

/** An unfinished run and its worker. */
export interface UnfinishedRun {
  scheduledAt: Date;
  worker: string;
}

export interface Claim {
  /** `busy`: the scheduler still runs a job that another has taken over. */
  outcome: "claimed" | "overlapped" | "busy";
  /** The unfinished run that was found: still running (`overlapped`), or closed as abandoned. */
  unfinishedRun?: UnfinishedRun;
}

/**
 * Claims the tick for one scheduler, which runs it or reports the overlap; undefined for all others. LOCK is
 * a statement of its own, so that CLAIM sees everything committed before the lock was granted.
 */
export function claimTick(
  db: Database,
  { job, scheduledAt }: Tick,
  {
    worker,
    deadAfter,
    inFlight,
  }: Claimant & { /** The run of this job that the scheduler is executing. */ inFlight?: Date | undefined },
): Promise<Claim | undefined> {
  return db.transaction(async (tx) => {
    await tx.query(LOCK, [job]);
    const values = [job, scheduledAt, worker, deadAfter, inFlight ?? null];
    const [row] = await tx.query<Pick<Claim, "outcome"> & (UnfinishedRun | { worker: null })>(CLAIM, values);
    if (!row) return undefined;
    const { outcome, ...unfinishedRun } = row;
    return unfinishedRun.worker === null ? { outcome } : { outcome, unfinishedRun };
  });
}

/** An abandoned run is only closed, not repeated, when a newer run of the job exists. */
const TAKE_OVER = sql(`
  with lost as materialized (
    select
      r.job,
      r.scheduled_at,
      r.worker,
      exists (
        select
        from cron_runs newer
        where newer.job = r.job
        and newer.scheduled_at > r.scheduled_at
        and newer.outcome <> 'overlapped'
      ) as is_old
    from cron_runs r
    where r.finished_at is null
    and r.job = any($1)
    and ${isRunAbandoned("r", { ownWorker: "$2", deadAfter: "$3" })}
    for update of r skip locked
  )
  update cron_runs r
  set
    worker = case when l.is_old then r.worker else $2 end,
    started_at = case when l.is_old then r.started_at else now() end,
    finished_at = case when l.is_old then now() end,
    outcome = case when l.is_old then 'failed' end,
    error = case when l.is_old then 'abandoned' end
  from lost l
  where r.job = l.job
  and r.scheduled_at = l.scheduled_at
  returning r.job, r.scheduled_at as "scheduledAt", l.worker, l.is_old as "isOld"`);

export interface TakenOverRun extends Tick {
  /** The previous owner. */
  worker: string;
  /** True when the run was only closed. */
  isOld: boolean;
}

/** Takes over abandoned runs of these jobs; the claimant must not be running any of them. */
export const takeOverRuns = (
  db: Queryable,
  jobs: readonly string[],
  { worker, deadAfter }: Claimant,
): Promise<TakenOverRun[]> => db.query<TakenOverRun>(TAKE_OVER, [jobs, worker, deadAfter]);

const FINISH = sql(`
  update cron_runs
  set finished_at = now(), outcome = $4, error = $5
  where job = $1
  and scheduled_at = $2
  and worker = $3
  and finished_at is null
  returning job`);

/** False when the run was taken over or closed by another scheduler. */
export async function finishRun(
  db: Queryable,
  { job, scheduledAt, worker }: Tick & { worker: string },
  error?: string,
): Promise<boolean> {
  const outcome = error === undefined ? "ok" : "failed";
  const rows = await db.query(FINISH, [job, scheduledAt, worker, outcome, error ?? null]);
  return rows.length === 1;
}

const DELETE_OLD = sql(`
  delete from cron_runs
  where scheduled_at < now() - $1 * interval '1 millisecond'
  returning job`);

export async function deleteOldRuns(db: Queryable, maxAgeMs: number): Promise<number> {
  const rows = await db.query(DELETE_OLD, [maxAgeMs]);
  return rows.length;
}

const READ_METRICS = sql(`
  select
    j.job,
    extract(epoch from s.finished_at)::double precision as "lastSuccess",
    coalesce(extract(epoch from now() - r.started_at), 0)::double precision as "runningFor"
  from unnest($1::text[]) as j (job)
  left join cron_runs r on r.job = j.job and r.finished_at is null
  left join lateral (
    select finished_at
    from cron_runs
    where job = j.job
    and outcome = 'ok'
    order by scheduled_at desc
    limit 1
  ) s on true`);

export interface CronMetrics {
  job: string;
  /** Seconds since 1970; null when no success is recorded. */
  lastSuccess: number | null;
  /** Seconds; 0 while no run is in progress. */
  runningFor: number;
}

export const readCronMetrics = (db: Queryable, jobs: readonly string[]): Promise<CronMetrics[]> =>
  db.query<CronMetrics>(READ_METRICS, [jobs]);
