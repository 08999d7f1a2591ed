import { type Queryable, sql } from "../database/database.ts";
import type { StatsSubject } from "./subjects.ts";

const READ = sql(`
  select rolled_up_to
  from stats_progress
  where subject = $1`);

/** All figures include at least the changes committed before this time. */
export async function readProgress(db: Queryable, { name }: StatsSubject): Promise<Date> {
  const [row] = await db.query<{ rolled_up_to: Date }>(READ, [name]);
  return (row as { rolled_up_to: Date }).rolled_up_to;
}

/** Never goes backwards: a scheduler that froze may report an older run. */
const SAVE = sql(`
  update stats_progress
  set rolled_up_to = $2
  where subject = $1
  and rolled_up_to < $2`);

export async function saveProgress(db: Queryable, { name }: StatsSubject, rolledUpTo: Date): Promise<void> {
  await db.query(SAVE, [name, rolledUpTo]);
}

const deleteStatement = (table: StatsSubject["table"]) =>
  sql(`
  delete from ${table}
  where ctid = any(array(
    select ctid
    from ${table}
    where start < now() - $1 * interval '1 millisecond'
    limit $2
  ))
  returning 1 as one`);

const DELETE_OLD = { messages: deleteStatement("message_stats"), events: deleteStatement("event_stats") };

/** Spans all clients: deletes up to `limit` rows of hours that started `maxAgeMs` ago; returns how many. */
export async function deleteOldStats(
  db: Queryable,
  { name }: StatsSubject,
  { maxAgeMs, limit }: { maxAgeMs: number; limit: number },
): Promise<number> {
  const rows = await db.query(DELETE_OLD[name], [maxAgeMs, limit]);
  return rows.length;
}
