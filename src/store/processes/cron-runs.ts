import { WORKER_DEAD_AFTER_MS } from "../../runtime/deadlines.ts";
import { type Queryable, sql } from "../database/database.ts";
import { isLeaseOfDeadWorker } from "./workers.ts";

/**
 * The unfinished run of a dead scheduler is closed before the insert: a unique index allows one unfinished run per job. A
 * run of the claiming scheduler is closed too: it executes none, so the answer to that claim was lost.
 */
const CLAIM = sql(`
  with unfinished as materialized (
    select scheduled_at, worker
    from cron_runs
    where job = $1
    and finished_at is null
  ),
  closed as (
    update cron_runs r
    set finished_at = now(), outcome = 'failed', error = 'abandoned'
    where r.job = $1
    and r.finished_at is null
    and (r.worker = $3 or ${isLeaseOfDeadWorker({ worker: "r.worker", claimedAt: "r.started_at", deadAfter: "$4" })})
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
    select $1, $2, $3, case when is_overlapped then now() end, case when is_overlapped then 'overlapped' end
    from (
      select exists (select from unfinished) and not exists (select from closed) as is_overlapped
    ) found
    on conflict do nothing
    returning outcome
  )
  select c.outcome is not null as "isOverlapped", u.scheduled_at as "scheduledAt", u.worker
  from claimed c
  left join unfinished u on true`);

export interface Tick {
  job: string;
  scheduledAt: Date;
  /** The id of the scheduler that claims or runs it. */
  worker: string;
}

export interface CronRunClaim {
  /** True when a run of a living scheduler is unfinished: the tick must not run. */
  isOverlapped: boolean;
  /** The unfinished run that was found: still running (`isOverlapped`), or closed as abandoned. */
  unfinished?: Tick;
}

/**
 * Claims the tick for one scheduler, which runs it or reports the overlap; undefined for all others. The caller must not be
 * running the job. Of two ticks of a job that are claimed at the same moment one is claimed.
 */
export async function claimTick(
  db: Queryable,
  { job, scheduledAt, worker }: Tick,
): Promise<CronRunClaim | undefined> {
  type Row = { isOverlapped: boolean; scheduledAt: Date | null; worker: string | null };
  const [row] = await db.query<Row>(CLAIM, [job, scheduledAt, worker, WORKER_DEAD_AFTER_MS]);
  if (!row) return undefined;
  const { isOverlapped, ...found } = row;
  return found.worker === null ? { isOverlapped } : { isOverlapped, unfinished: { job, ...found } as Tick };
}

const FINISH = sql(`
  update cron_runs
  set finished_at = now(), outcome = $4, error = $5
  where job = $1
  and scheduled_at = $2
  and worker = $3`);

/** Also corrects a run that another scheduler closed as abandoned, because this one could not record its heartbeat. */
export async function finishRun(
  db: Queryable,
  { job, scheduledAt, worker }: Tick,
  error?: string,
): Promise<void> {
  const outcome = error === undefined ? "ok" : "failed";
  await db.query(FINISH, [job, scheduledAt, worker, outcome, error ?? null]);
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
