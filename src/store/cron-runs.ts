import { type Queryable, sql } from "./database.ts";

const CLAIM = sql(`
  insert into cron_runs (job, scheduled_at, worker)
  values ($1, $2, $3)
  on conflict do nothing
  returning job`);

const FINISH = sql(`
  update cron_runs
  set finished_at = now(),
      outcome = $3,
      error = $4
  where job = $1
    and scheduled_at = $2`);

const FORGET = sql(`
  delete from cron_runs
  where scheduled_at < now() - $1 * interval '1 millisecond'
  returning job`);

export interface Tick {
  job: string;
  scheduledAt: Date;
}

/** True for the one scheduler that may run this tick. */
export async function claimTick(db: Queryable, tick: Tick, worker: string): Promise<boolean> {
  const rows = await db.query(CLAIM, [tick.job, tick.scheduledAt, worker]);
  return rows.length === 1;
}

export async function finishTick(db: Queryable, tick: Tick, error?: string): Promise<void> {
  await db.query(FINISH, [tick.job, tick.scheduledAt, error === undefined ? "ok" : "failed", error ?? null]);
}

export async function forgetOldTicks(db: Queryable, age: number): Promise<number> {
  const rows = await db.query(FORGET, [age]);
  return rows.length;
}
