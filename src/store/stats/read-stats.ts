import { type Queryable, type Statement, sql } from "../database/database.ts";
import { countNames, STATS_SUBJECTS, type StatsSubject } from "./hours.ts";

/** Figures of one interval and one channel or key. */
export interface StatsRow {
  start: Date;
  /** The channel's id, or the key; empty for events without a key. */
  dimension: string;
  /** `accepted` and the subject's outcomes. */
  counts: number[];
}

/** The rows of intervals that start from `from` to before `to`, both starts of an interval. */
export interface StatsSearch {
  from: Date;
  to: Date;
  interval: "hour" | "day";
  /** Only this channel or key. */
  dimension?: string | undefined;
  limit: number;
}

const readStatement = (subject: StatsSubject, condition = ""): Statement =>
  sql(`
  select
    date_trunc($4, start, 'UTC') as start,
    ${subject.dimension} as dimension,
    array[${countNames(subject)
      .map((name) => `sum(${name})`)
      .join(", ")}]::double precision[] as counts
  from ${subject.table}
  where client_id = $1
  and start >= $2
  and start < $3${condition}
  group by 1, 2
  order by 1, 2
  limit $5`);

const readStatements = (subject: StatsSubject) => ({
  all: readStatement(subject),
  one: readStatement(subject, `\n  and ${subject.dimension} = $6`),
});

const READ = {
  messages: readStatements(STATS_SUBJECTS.messages),
  events: readStatements(STATS_SUBJECTS.events),
};

/** Oldest first. */
export function readStats(
  db: Queryable,
  clientId: string,
  { subject, search }: { subject: StatsSubject; search: StatsSearch },
): Promise<StatsRow[]> {
  const { from, to, interval, dimension, limit } = search;
  const values = [clientId, from, to, interval, limit];
  const { all, one } = READ[subject.name];
  return dimension === undefined
    ? db.query<StatsRow>(all, values)
    : db.query<StatsRow>(one, [...values, dimension]);
}

const READ_PROGRESS = sql(`
  select rolled_up_to
  from stats_progress
  where subject = $1`);

/** All figures include at least the changes committed before this time, apart from hours with a row in late_changes. */
export async function readProgress(db: Queryable, { name }: StatsSubject): Promise<Date> {
  const [row] = await db.query<{ rolled_up_to: Date }>(READ_PROGRESS, [name]);
  return (row as { rolled_up_to: Date }).rolled_up_to;
}

/** Never goes backwards: a scheduler that froze may report an older run. */
const SAVE_PROGRESS = sql(`
  update stats_progress
  set rolled_up_to = $2
  where subject = $1
  and rolled_up_to < $2`);

export async function saveProgress(db: Queryable, { name }: StatsSubject, rolledUpTo: Date): Promise<void> {
  await db.query(SAVE_PROGRESS, [name, rolledUpTo]);
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
