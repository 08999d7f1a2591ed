import { SECOND } from "../../runtime/durations.ts";
import { firstIdAt, timeOfId } from "../../runtime/ids.ts";
import type { Database, Queryable } from "./database.ts";
import {
  LOCK_PARTITIONS,
  listRanges,
  type PartitionGroup,
  partitionNameOf,
  SET_LOCK_TIMEOUT,
  type TimeRange,
} from "./partitions.ts";

/**
 * The end of a range of ids whose retention has passed:
 * settled: none of its rows is needed. Its partitions are dropped, under a lock that waits for a second at most.
 * kept: some of its rows are needed. It stays attached, because rows cannot be moved out of their partition without hiding
 *   them for a moment; the other rows are deleted in batches, which lock nothing else. A later run drops it.
 */

export interface Expiry {
  /** Milliseconds since 1970: older rows have passed their retention. */
  before: number;
  /** Stops the work between two statements. */
  signal?: AbortSignal | undefined;
}

const listExpiredRanges = async (
  db: Queryable,
  group: PartitionGroup,
  { before }: Expiry,
): Promise<TimeRange[]> => (await listRanges(db, group)).filter(({ to }) => to <= before);

async function hasNeededRows(db: Queryable, group: PartitionGroup, { from, to }: TimeRange) {
  const bounds = [firstIdAt(group.prefix, from), firstIdAt(group.prefix, to)];
  const [row] = await db.query<{ hasNeeded: boolean }>(group.findNeeded, bounds);
  return row?.hasNeeded ?? true;
}

/** All acceptance waits for the locked tables, so a drop that is slow is left to the next run. */
const DROP_STATEMENT_LIMIT_MS = 2 * SECOND;

/** Drops the expired ranges of which no row is needed; returns how many. */
export async function dropPartitions(db: Database, group: PartitionGroup, expiry: Expiry): Promise<number> {
  let dropped = 0;
  for (const range of await listExpiredRanges(db, group, expiry)) {
    expiry.signal?.throwIfAborted();
    if (await hasNeededRows(db, group, range)) continue;
    const limits = { statementMs: DROP_STATEMENT_LIMIT_MS };
    if (await db.transaction((tx) => dropRange(tx, group, range), limits)) dropped++;
  }
  return dropped;
}

/** One range per transaction, so that its locks are held briefly. False when it is gone, or when a row is needed again. */
async function dropRange(tx: Queryable, group: PartitionGroup, range: TimeRange): Promise<boolean> {
  await tx.query(LOCK_PARTITIONS);
  await tx.query(SET_LOCK_TIMEOUT);
  const parents = group.tables.map((table) => `only ${table}`).join(", ");
  await tx.query(`lock table ${parents} in access exclusive mode`);
  if (await hasNeededRows(tx, group, range)) return false;
  if (!(await listRanges(tx, group)).some(({ from }) => from === range.from)) return false;
  for (const table of group.tables) await tx.query(`drop table ${partitionNameOf(table, range)}`);
  return true;
}

/** Rows that have passed their retention. */
export interface ExpiredRows {
  deleted: number;
  /** Rows of the leading table that are kept because they are needed. */
  kept: number;
  /** Ranges that are kept because of them. */
  ranges: number;
  /** Milliseconds since 1970: when the oldest of these rows or ranges begins; infinite without any. */
  oldest: number;
}

/** Deletes the rows that are not needed from the expired ranges that are kept, and from the default partitions. */
export async function deleteExpiredRows(
  db: Database,
  group: PartitionGroup,
  expiry: Expiry,
): Promise<ExpiredRows> {
  const total: ExpiredRows = { deleted: 0, kept: 0, ranges: 0, oldest: Number.POSITIVE_INFINITY };
  const deleteFrom = async (partitionOf: PartitionOf) => {
    for await (const { deleted, kept, oldestKept } of deleteInBatches(db, { group, partitionOf }, expiry)) {
      total.deleted += deleted;
      total.kept += kept;
      if (oldestKept !== null) total.oldest = Math.min(total.oldest, timeOfId(oldestKept));
    }
  };
  for (const range of await listExpiredRanges(db, group, expiry)) {
    if (!(await hasNeededRows(db, group, range))) continue;
    total.ranges++;
    total.oldest = Math.min(total.oldest, range.from);
    await deleteFrom((table) => partitionNameOf(table, range));
  }
  await deleteFrom((table) => `${table}_default`);
  return total;
}

/** Returns the name of a table's partition. */
type PartitionOf = (table: string) => string;

interface Partitions {
  group: PartitionGroup;
  partitionOf: PartitionOf;
}

/** What a statement did, and the position at which the next one begins. */
interface DeletedBatch {
  client_id: string;
  id: string;
  deleted: number;
  kept: number;
  oldestKept: string | null;
}

const BEFORE_ALL_ROWS = { client_id: "00000000-0000-0000-0000-000000000000", id: "" };

/** Reads the primary key from one batch to the next, so that a row that is kept is read once. */
async function* deleteInBatches(db: Database, partitions: Partitions, { before, signal }: Expiry) {
  const statement = batchStatement(partitions);
  const firstKept = firstIdAt(partitions.group.prefix, before);
  let position: Pick<DeletedBatch, "client_id" | "id"> = BEFORE_ALL_ROWS;
  for (;;) {
    signal?.throwIfAborted();
    const [batch] = await db.transaction(async (tx) => {
      await tx.query(READ_IN_ORDER);
      return tx.query<DeletedBatch>(statement, [position.client_id, position.id, firstKept]);
    });
    if (!batch) return;
    yield batch;
    position = batch;
  }
}

/** Rows of the leading table that a statement reads. */
const MAX_BATCH_ROWS = 3_000;

/** Postgres would read and sort the whole partition for each batch. Without the JIT, which the price of sorts would start. */
const READ_IN_ORDER = "set local enable_sort = off; set local jit = off";

/**
 * An event may be retried after it was read. Postgres 14.20, 15.15, 16.11, 17.7, 18.1 and later do not find a changed row by
 * its old ctid. Earlier minor versions go on to its newest version, and check the condition there.
 */
function batchStatement({ group: { tables, leading, isNeeded }, partitionOf }: Partitions): string {
  const others = tables.filter((table) => table !== leading);
  return `
  with batch as materialized (
    select r.ctid, r.client_id, r.id, r.id < $3 as is_expired, r.id < $3 and (${isNeeded}) as is_kept
    from ${partitionOf(leading)} r
    where (r.client_id, r.id) > ($1, $2)
    order by r.client_id, r.id
    limit ${MAX_BATCH_ROWS}
  ),
  deleted as (
    delete from ${partitionOf(leading)} r
    where r.ctid = any(array(
      select ctid
      from batch
      where is_expired
      and not is_kept
    ))
    and not (${isNeeded})
    returning r.client_id, r.id
  )${others
    .map(
      (table) => `,
  deleted_${table} as (
    delete from ${partitionOf(table)} o
    using deleted d
    where o.client_id = d.client_id
    and o.id = d.id
  )`,
    )
    .join("")}
  select
    client_id,
    id,
    (select count(*)::integer from deleted) as deleted,
    (select count(*)::integer from batch where is_kept) as kept,
    (select min(id) from batch where is_kept) as "oldestKept"
  from batch
  order by client_id desc, id desc
  limit 1`;
}
