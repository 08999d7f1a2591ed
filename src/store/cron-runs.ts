import { type Queryable, sql } from "./database.ts";

const CLAIM = sql(`
  insert into cron_runs (job, scheduled_at, worker)
  values ($1, $2, $3)
  on conflict do nothing
  returning job`);

const FINISH = sql(`
  update cron_runs
  set finished_at = now(),
      outcome = $4,
      error = $5
  where job = $1
    and scheduled_at = $2
    and worker = $3`);

const FORGET = sql(`
  delete from cron_runs
  where scheduled_at < now() - $1 * interval '1 millisecond'
  returning job`);

export interface Tick {
  job: string;
  scheduledAt: Date;
  /** The scheduler that claims it. */
  worker: string;
}

/** True for the one scheduler that may run this tick. */
export async function claimTick(db: Queryable, { job, scheduledAt, worker }: Tick): Promise<boolean> {
  const rows = await db.query(CLAIM, [job, scheduledAt, worker]);
  return rows.length === 1;
}

export async function finishTick(db: Queryable, tick: Tick, error?: string): Promise<void> {
  const outcome = error === undefined ? "ok" : "failed";
  await db.query(FINISH, [tick.job, tick.scheduledAt, tick.worker, outcome, error ?? null]);
}

export async function forgetOldTicks(db: Queryable, age: number): Promise<number> {
  const rows = await db.query(FORGET, [age]);
  return rows.length;
}
