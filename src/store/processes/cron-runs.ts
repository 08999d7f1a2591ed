import { type Database, type Queryable, sql } from "../database/database.ts";
import { isLeaseOfDeadWorker } from "./workers.ts";

/** Of myself I know better: what is in my name while I am not at it, because an answer was lost, is in nobody's hand. */
const isRunAbandoned = (
  row: string,
  { ownWorker, deadAfter }: { ownWorker: string; deadAfter: string },
): string =>
  isLeaseOfDeadWorker({
    worker: `nullif(${row}.worker, ${ownWorker})`,
    claimedAt: `${row}.started_at`,
    deadAfter,
  });

/** Without the timeout a scheduler that freezes in between would keep the others from the job for hours. */
const LOCK = sql(`
  select
    set_config('idle_in_transaction_session_timeout', '5s', true),
    pg_advisory_xact_lock(hashtext('herald:cron ' || $1::text))`);

/**
 * At most one run of a job is unfinished. It is closed before the tick's own is inserted, or a unique index refuses that. Who is
 * still at a run that another has taken over takes nothing: its hands are full, and no row tells of that.
 */
const CLAIM = sql(`
  with hands as materialized (
    select $5::timestamptz is null or exists (
      select
      from cron_runs own
      where own.job = $1
      and own.scheduled_at = $5
      and own.worker = $3
      and own.error is distinct from 'abandoned'
    ) as are_free
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
    from hands
    where hands.are_free
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
    from hands
    join (
      select exists (select from met) and not exists (select from abandoned) as overlaps
    ) found on hands.are_free
    on conflict do nothing
    returning coalesce(outcome, 'claimed') as outcome
  )
  select coalesce(c.outcome, 'busy') as outcome, m.scheduled_at as "scheduledAt", m.worker
  from hands
  left join claimed c on true
  left join met m on hands.are_free
  where not hands.are_free
  or c.outcome is not null`);

export interface Tick {
  job: string;
  scheduledAt: Date;
}

/** The scheduler that asks. */
export interface Claimant {
  worker: string;
  /** Milliseconds of silence after which another one is dead; null while it cannot tell. */
  deadAfter: number | null;
}

/** A run, and in whose name it is. */
export interface UnfinishedRun {
  scheduledAt: Date;
  worker: string;
}

export interface Claim {
  /** Busy: with a run that another has taken over. */
  outcome: "claimed" | "overlapped" | "busy";
  /** The run that was found unfinished: overlapped by this tick, or else abandoned for it. */
  unfinishedRun?: UnfinishedRun;
}

/**
 * Takes the tick: for the one scheduler that may run it, or the one that has to tell that it does not run, because another run
 * of the job goes on. Undefined for all others. Two statements, for what the second sees is no older than the lock.
 */
export function claimTick(
  db: Database,
  { job, scheduledAt }: Tick,
  {
    worker,
    deadAfter,
    inFlight,
  }: Claimant & { /** The run of this job that it is at. */ inFlight?: Date | undefined },
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

/** A run that others have passed by meanwhile is not worth doing again. */
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
  /** Who had it. */
  worker: string;
  /** It was only closed. */
  isOld: boolean;
}

/** Takes what is in the hands of the dead, of these jobs, none of which the claimant is running. */
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

/** False where the run was somebody else's by then, or given up. */
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
  /** Seconds since 1970; null where no success is on record. */
  lastSuccess: number | null;
  /** Seconds; 0 while none runs. */
  runningFor: number;
}

export const readCronMetrics = (db: Queryable, jobs: readonly string[]): Promise<CronMetrics[]> =>
  db.query<CronMetrics>(READ_METRICS, [jobs]);
