import { type Queryable, sql } from "./database.ts";

const BEAT = sql(`
  insert into workers (id, process)
  values ($1, $2)
  on conflict (id) do update
  set heartbeat_at = now()`);

const REMOVE = sql(`
  delete from workers
  where id = $1`);

const FORGET = sql(`
  delete from workers
  where heartbeat_at < now() - $1 * interval '1 millisecond'
  returning id`);

/** Says that the worker lives; the first call makes its row. */
export async function beat(db: Queryable, id: string, process: string): Promise<void> {
  await db.query(BEAT, [id, process]);
}

export async function removeWorker(db: Queryable, id: string): Promise<void> {
  await db.query(REMOVE, [id]);
}

/** Over all workers: drops those that have been silent for `age` milliseconds, and answers how many. */
export async function forgetSilentWorkers(db: Queryable, age: number): Promise<number> {
  const rows = await db.query(FORGET, [age]);
  return rows.length;
}
