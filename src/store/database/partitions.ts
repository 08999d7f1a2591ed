import { firstIdAt, type IdPrefix, timeOfId } from "../../runtime/ids.ts";
import { type Database, type Queryable, type Statement, sql } from "./database.ts";

/** Tables with the same partitions, ranged by the time in ids of one prefix. */
export interface PartitionGroup {
  prefix: IdPrefix;
  /** In the order in which the statement that inserts rows locks them. */
  tables: readonly [string, ...string[]];
  /** The table whose rows decide: those of the other tables are kept and deleted with the row of their id. */
  leading: string;
  /** `hasNeeded` is true when a row is needed whose id is at least $1 and less than $2. */
  findNeeded: Statement;
  /**
   * SQL: true when the row `r` of the leading table is needed. With scalar subqueries each row is looked up by a primary key;
   * `exists` may become a join that reads the whole queue.
   */
  isNeeded: string;
}

/**
 * An event is needed while its delivery waits, also at a held queue or an open breaker. A retry or a replay inserts the row
 * of the queue later; the state shows one that began after the statement that reads it.
 */
export const EVENT_TABLES: PartitionGroup = {
  prefix: "evt",
  tables: ["events", "deliveries", "attempts"],
  leading: "deliveries",
  findNeeded: sql(`
  select (
    select id
    from delivery_queue
    where id >= $1
    and id < $2
    order by id -- otherwise Postgres may read the whole table
    limit 1
  ) is not null as "hasNeeded"`),
  isNeeded: `
    r.state in ('pending', 'retrying')
    or (
      select true
      from delivery_queue q
      where q.id = r.id
    ) is not null`,
};

/**
 * A message is needed until its outcome is known: one that may have been sent can be sent again. All messages of an unfinished
 * batch are needed, because they are counted.
 */
export const MESSAGE_TABLES: PartitionGroup = {
  prefix: "msg",
  tables: ["messages"],
  leading: "messages",
  findNeeded: sql(`
  select
    exists (
      select
      from clients c
      cross join lateral (
        select s.id
        from sends s
        where s.client_id = c.id
        and s.id >= $1
        and s.id < $2
        order by s.id -- otherwise Postgres may read the whole table for each client
        limit 1
      ) found
    )
    or exists (
      select
      from batches
      where finished_at is null
      and last_message_id >= $1
      and first_message_id < $2
    ) as "hasNeeded"`),
  isNeeded: `
    (
      select true
      from sends s
      where s.client_id = r.client_id
      and s.id = r.id
    ) is not null
    or (
      select true
      from batches b
      where b.client_id = r.client_id
      and b.id = r.batch_id
      and b.finished_at is null
    ) is not null`,
};

/** Milliseconds since 1970; `to` is exclusive. */
export interface TimeRange {
  from: number;
  to: number;
}

export const LOCK_PARTITIONS = sql("select pg_advisory_xact_lock(hashtext('herald:partitions'))");

/** A statement that waits for these locks blocks all later readers and writers, so it gives up early. */
export const SET_LOCK_TIMEOUT = "set local lock_timeout = '1s'";

const LIST_BOUNDS = sql(`
  select pg_get_expr(c.relpartbound, c.oid) as bound
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  where i.inhparent = $1::regclass`);

/** Returns the ranges that have partitions, the oldest first. */
export async function listRanges(db: Queryable, { tables: [first] }: PartitionGroup): Promise<TimeRange[]> {
  const rows = await db.query<{ bound: string }>(LIST_BOUNDS, [first]);
  const ranges = rows.flatMap(({ bound }) => {
    const [from, to] = [...bound.matchAll(/'([a-z]+_[0-9a-z]+)'/g)].map(([, id]) => timeOfId(id as string));
    return from === undefined || to === undefined ? [] : [{ from, to }];
  });
  return ranges.sort((one, other) => one.from - other.from);
}

/** A partition is named after the first day of its range. */
export const partitionNameOf = (table: string, { from }: TimeRange): string =>
  `${table}_${new Date(from).toISOString().slice(0, 10).replaceAll("-", "")}`;

interface PartitionPlan {
  now: number;
  /** Milliseconds that each partition covers. */
  spanMs: number;
}

/**
 * Creates the partitions that are missing for now and the next two spans; returns how many ranges it created.
 */
export async function createMissingPartitions(
  db: Database,
  group: PartitionGroup,
  plan: PartitionPlan,
): Promise<number> {
  let created = 0;
  while (await db.transaction((tx) => createNextPartitions(tx, group, plan))) created++;
  return created;
}

/** Creates one range per transaction, so that its locks are held briefly. False when none is missing. */
async function createNextPartitions(
  tx: Queryable,
  group: PartitionGroup,
  { now, spanMs }: PartitionPlan,
): Promise<boolean> {
  await tx.query(LOCK_PARTITIONS);
  const last = (await listRanges(tx, group)).at(-1);
  const from = last?.to ?? now - (now % spanMs);
  if (from > now + 2 * spanMs) return false;
  const { prefix, tables } = group;
  for (const table of tables) await createPartition(tx, { prefix, table }, { from, to: from + spanMs });
  return true;
}

/**
 * A new partition is not analysed before it has so many rows that its figures say something. Without
 * `vacuum_truncate = off`, VACUUM would remove its reserved pages.
 */
const STORAGE = [
  "autovacuum_analyze_threshold = 5000",
  "autovacuum_vacuum_threshold = 5000",
  "autovacuum_vacuum_insert_threshold = 5000",
  "vacuum_truncate = off",
].join(", ");

/** Four such rows fill a page; Postgres would move a longer text out of its row. */
const WIDE_TEXT = "x".repeat(1_800);

/** A wide row of each of the tables: Postgres ignores the fields that a table lacks. */
const WIDE_ROW = JSON.stringify({
  client_id: "00000000-0000-0000-0000-000000000000",
  id: "reserved",
  channel_id: "",
  attempts: 0,
  // events
  type: "",
  occurred_at: "epoch",
  is_late: false,
  payload: WIDE_TEXT,
  // deliveries
  state: "pending",
  is_bulk: false,
  last_error: WIDE_TEXT,
  // attempts
  attempt: 1,
  at: "epoch",
  duration_ms: 0,
  error: WIDE_TEXT,
  // messages
  platform: "chatapp",
  recipient: "",
  recipient_kind: "phone",
  content: WIDE_TEXT,
  status: "queued",
  timeline: [],
  platform_attempts: [],
  outcome_unknown: false,
});

/** Lets an empty partition have 32 pages: for a smaller one Postgres may plan to read all rows of it, or of a client. */
async function reservePages(tx: Queryable, name: string): Promise<void> {
  await tx.query(
    `insert into ${name} select row.* from generate_series(1, 128), jsonb_populate_record(null::${name}, $1) as row`,
    [WIDE_ROW],
  );
  await tx.query(`delete from ${name}`);
}

/** Creates a separate table and attaches it, which does not block the other partitions. */
async function createPartition(
  tx: Queryable,
  { prefix, table }: { prefix: IdPrefix; table: string },
  range: TimeRange,
): Promise<void> {
  const [name, from, to] = [
    partitionNameOf(table, range),
    firstIdAt(prefix, range.from),
    firstIdAt(prefix, range.to),
  ];
  await tx.query(SET_LOCK_TIMEOUT);
  await tx.query(
    `create table ${name} (like ${table} including defaults including constraints) with (${STORAGE})`,
  );
  await reservePages(tx, name);
  // Rows of this range may already be in the default partition; block inserts there until they are moved.
  await tx.query(`lock table ${table}_default in access exclusive mode`);
  await tx.query(`insert into ${name} select * from ${table}_default where id >= '${from}' and id < '${to}'`);
  await tx.query(`delete from ${table}_default where id >= '${from}' and id < '${to}'`);
  await tx.query(`alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`);
}
