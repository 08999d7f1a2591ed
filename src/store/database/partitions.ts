import { firstIdAt, type IdPrefix, timeOfId } from "../../runtime/ids.ts";
import { type Database, type Queryable, sql } from "./database.ts";

/** Tables with the same partitions, ranged by the time in ids of one prefix. */
export interface PartitionGroup {
  prefix: IdPrefix;
  tables: readonly [string, ...string[]];
  /** A table without partitions, with a row for each row of theirs that is still to be processed. */
  queue?: string;
  /** SQL: the rows of one of the tables, or of its partition, that are still needed. */
  neededRows?(table: string): string;
}

export const EVENT_TABLES: PartitionGroup = {
  prefix: "evt",
  tables: ["events", "deliveries", "attempts"],
  queue: "delivery_queue",
};
/**
 * A message may be scheduled for a later time than its retention, and its batch may be paused for long. All messages of an
 * unfinished batch are needed, because they are counted.
 */
export const MESSAGE_TABLES: PartitionGroup = {
  prefix: "msg",
  tables: ["messages"],
  neededRows: (table) => `
    select m.*
    from sends s
    join ${table} m on m.client_id = s.client_id and m.id = s.id
    where s.state <> 'unknown'
    union
    select m.*
    from batches b
    join ${table} m on m.client_id = b.client_id and m.batch_id = b.id
    where b.finished_at is null`,
};

/** Milliseconds since 1970; `to` is exclusive. */
interface TimeRange {
  from: number;
  to: number;
}

const LOCK_PARTITIONS = sql("select pg_advisory_xact_lock(hashtext('herald:partitions'))");

/** A statement that waits for these locks blocks all later readers and writers, so it gives up early. */
const SET_LOCK_TIMEOUT = "set local lock_timeout = '1s'";

const LIST_BOUNDS = sql(`
  select pg_get_expr(c.relpartbound, c.oid) as bound
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  where i.inhparent = $1::regclass`);

async function listRanges(db: Queryable, { tables: [first] }: PartitionGroup): Promise<TimeRange[]> {
  const rows = await db.query<{ bound: string }>(LIST_BOUNDS, [first]);
  const ranges = rows.flatMap(({ bound }) => {
    const [from, to] = [...bound.matchAll(/'([a-z]+_[0-9a-z]+)'/g)].map(([, id]) => timeOfId(id as string));
    return from === undefined || to === undefined ? [] : [{ from, to }];
  });
  return ranges.sort((one, other) => one.from - other.from);
}

/** A partition is named after the first day of its range. */
const partitionNameOf = (table: string, { from }: TimeRange): string =>
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

/** A new partition is not analysed before it has so many rows that its figures say something. */
const STORAGE = ["analyze", "vacuum", "vacuum_insert"]
  .map((work) => `autovacuum_${work}_threshold = 5000`)
  .join(", ");

/** A wide row of each of the tables: Postgres ignores the fields that a table lacks. */
const WIDE_ROW = JSON.stringify({
  ...{ client_id: "00000000-0000-0000-0000-000000000000", id: "reserved", channel_id: "", attempts: 0 },
  ...{ type: "", occurred_at: "epoch", is_late: false, payload: "x".repeat(1_800) },
  ...{ state: "pending", is_bulk: false, last_error: "x".repeat(1_800) },
  ...{ attempt: 1, at: "epoch", duration_ms: 0, error: "x".repeat(1_800) },
  ...{
    platform: "chatapp",
    recipient: "",
    recipient_kind: "phone",
    content: "x".repeat(1_800),
    status: "queued",
  },
  ...{ timeline: [], platform_attempts: [], outcome_unknown: false },
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

/**
 * Drops ranges that end by `before` and deletes older rows of the default partitions, apart from those that are still needed;
 * returns how many ranges.
 */
export async function dropPartitions(db: Database, group: PartitionGroup, before: number): Promise<number> {
  let dropped = 0;
  while (await db.transaction((tx) => dropFirstRange(tx, group, before))) dropped++;
  for (const table of group.tables) await db.query(deleteFromDefault(table, group, before));
  return dropped;
}

/** Deletes rows of a default partition, and those of the queue that belong to them. */
function deleteFromDefault(
  table: string,
  { prefix, queue, neededRows }: PartitionGroup,
  before: number,
): string {
  const kept = neededRows
    ? `and (d.client_id, d.id) not in (select n.client_id, n.id from (${neededRows(`${table}_default`)}) n)`
    : "";
  const deletion = `delete from ${table}_default d where d.id < '${firstIdAt(prefix, before)}' ${kept}`;
  if (!queue) return deletion;
  return `with deleted as (${deletion} returning d.id) delete from ${queue} q using deleted d where q.id = d.id`;
}

/** Drops one range per transaction, so that its locks are held briefly. False when none ends by `before`. */
async function dropFirstRange(tx: Queryable, group: PartitionGroup, before: number): Promise<boolean> {
  await tx.query(LOCK_PARTITIONS);
  const [first] = await listRanges(tx, group);
  if (!first || first.to > before) return false;
  await dropRange(tx, group, first);
  return true;
}

/** Moves the needed rows into the default partitions: the others of the range, of all clients, are deleted in time. */
async function dropRange(tx: Queryable, group: PartitionGroup, range: TimeRange): Promise<void> {
  const { prefix, tables, queue, neededRows } = group;
  await tx.query(SET_LOCK_TIMEOUT);
  for (const table of tables) {
    const name = partitionNameOf(table, range);
    if (neededRows) {
      await tx.query(`alter table ${table} detach partition ${name}`);
      await tx.query(`insert into ${table}_default ${neededRows(name)}`);
    }
    await tx.query(`drop table ${name}`);
  }
  if (queue) await tx.query(`delete from ${queue} where id < '${firstIdAt(prefix, range.to)}'`);
}
