import { type Database, type Queryable, sql } from "../database/database.ts";

/**
 * A deleted client is marked, then its rows are erased, then its own row is.
 * marked: clients.deleted_at is set. It no longer has credentials, channels and configuration. Statements that insert rows
 *   without a foreign key to clients skip it; a statement that began before the mark may still insert some.
 * erased: its rows are deleted in batches, by the command or, when that was stopped, by the maintenance job. Rows that were
 *   inserted late are deleted by the last pass, which begins when the writers that were older than the mark have ended.
 * gone: its row is deleted, and with it what references the row.
 */

/** Tables with the client's credentials and configuration, in the order of their foreign keys; deleted with the mark. */
const CONFIGURATION = [
  "sessions",
  "api_keys",
  "users",
  "embed_sessions",
  "channels",
  "number_pins",
  "ad_accounts",
  "ad_connections",
  "webhook_configs",
] as const;

const MARK = sql(`
  update clients
  set deleted_at = now()
  where id = $1
  and deleted_at is null`);

const DELETE_CONFIGURATION = CONFIGURATION.map((table) => sql(`delete from ${table} where client_id = $1`));

/** Marks the client and deletes its credentials, channels, tokens and configuration in one transaction. */
export async function markClientDeleted(db: Database, clientId: string): Promise<void> {
  await db.transaction(async (tx) => {
    for (const statement of [MARK, ...DELETE_CONFIGURATION]) await tx.query(statement, [clientId]);
  });
}

const LIST_DELETED = sql(`
  select id
  from clients
  where deleted_at is not null
  order by deleted_at`);

/** Lists the clients whose rows are still to be erased. */
export async function listDeletedClients(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ id: string }>(LIST_DELETED);
  return rows.map(({ id }) => id);
}

const MAX_BATCH_ROWS = 5_000;
/** 8 MiB: about as many rows as a batch has when all of them are the client's. */
const MAX_BATCH_PAGES = 1_000;

/** Deletes a batch of the client's rows; false when there is no further one. */
type EraseBatch = (db: Queryable, clientId: string, batch: number) => Promise<boolean>;

/** Deletes $2 rows of the client $1 at a time, until there are none. */
function eraseUntilNone(deletion: string): EraseBatch {
  const statement = sql(`
  with deleted as (
    ${deletion}
    returning 1
  )
  select exists (select from deleted) as "hasMore"`);
  return async (db, clientId) => {
    const [row] = await db.query<{ hasMore: boolean }>(statement, [clientId, MAX_BATCH_ROWS]);
    return row?.hasMore ?? false;
  };
}

/** For a partitioned table, whose rows are found by (client_id, id): deletes up to the id of the last row of the batch. */
const eraseById = (table: string): EraseBatch =>
  eraseUntilNone(`delete from ${table}
    where client_id = $1
    and id <= (
      select max(id)
      from (
        select id
        from ${table}
        where client_id = $1
        order by id
        limit $2
      ) batch
    )`);

/** For a table with an index on client_id. */
const eraseByRow = (table: string, condition = "true"): EraseBatch =>
  eraseUntilNone(`delete from ${table}
    where ctid = any(array(
      select ctid
      from ${table}
      where client_id = $1
      and ${condition}
      limit $2
    ))
    and client_id = $1`);

/** For a table without an index on client_id: each batch reads the next pages of the table. */
function eraseByPages(table: string): EraseBatch {
  const statement = sql(`
  with deleted as (
    delete from ${table}
    where client_id = $1
    and ctid >= format('(%s,0)', $2::integer)::tid
    and ctid < format('(%s,0)', $2::integer + $3::integer)::tid
  )
  select ($2 + $3) * current_setting('block_size')::bigint < pg_relation_size('${table}') as "hasMore"`);
  return async (db, clientId, batch) => {
    const values = [clientId, batch * MAX_BATCH_PAGES, MAX_BATCH_PAGES];
    const [row] = await db.query<{ hasMore: boolean }>(statement, values);
    return row?.hasMore ?? false;
  };
}

/**
 * Tables without a foreign key to clients. Sends and deliveries come first: what is erased is not sent. An attempt, or a late
 * change, is written under the lock of its delivery or message: it is committed before that is erased, and its table follows.
 */
const HISTORY: readonly (readonly [table: string, erase: (table: string) => EraseBatch])[] = [
  // A message in flight is finished by its dispatcher.
  ["sends", (table) => eraseByRow(table, "(state <> 'claimed' or sending_at is null)")],
  ["batches", (table) => eraseByRow(table)],
  // One partial index has the waiting rows, with `is_bulk` as its first column, the other one the claimed rows.
  ["delivery_queue", (table) => eraseByRow(table, "worker_id is null and is_bulk in (false, true)")],
  ["delivery_queue", (table) => eraseByRow(table, "worker_id is not null")],
  ["deliveries", eraseById],
  ["attempts", eraseById],
  ["events", eraseById],
  ["event_fingerprints", eraseByRow],
  ["messages", eraseById],
  ["idempotency_keys", eraseByRow],
  ["late_changes", eraseByPages],
];

const REFERENCING_TABLES = [
  ...CONFIGURATION,
  "audit_log",
  "templates",
  "terms_acceptances",
  "claimed_operations",
  "ad_videos",
  "insights_reports",
  "message_stats",
  "event_stats",
];

const ERASE_BATCH = [
  ...HISTORY.map(([table, erase]) => erase(table)),
  ...REFERENCING_TABLES.map((table) => eraseByRow(table)),
];

/** Deletes the rows of a deleted client from all tables, in batches, so that no statement takes long. */
export async function eraseRows(db: Queryable, clientId: string): Promise<void> {
  for (const eraseBatch of ERASE_BATCH)
    for (let batch = 0; await eraseBatch(db, clientId, batch); batch += 1);
}

const IS_WRITER = `
  locktype = 'relation'
  and database = (select oid from pg_database where datname = current_database())
  and relation = any(array[${HISTORY.map(([table]) => `'${table}'::regclass`)}]::oid[])
  and mode = 'RowExclusiveLock'
  and granted
  and pid <> pg_backend_pid()`;

/**
 * A statement locks the tables that it writes to before it sees which clients are deleted, and its transaction keeps the
 * locks. So each writer that may not have seen a mark is in this list when that is read after the mark was committed.
 */
const LIST_WRITERS = sql(`
  select distinct virtualtransaction as id
  from pg_locks
  where ${IS_WRITER}
  and ($1::text[] is null or virtualtransaction = any($1))`);

/** Lists the transactions that write to the history of any client; with `among`, those of these that have not ended. */
export async function listWriters(db: Queryable, among?: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ id: string }>(LIST_WRITERS, [among ?? null]);
  return rows.map(({ id }) => id);
}

const DELETE = sql(`
  with deleted as (
    delete from clients
    where id = $1
    and deleted_at is not null
    and not exists (
      select
      from sends
      where client_id = $1
    )
    returning id
  )
  select
    exists (select from deleted)
    or not exists (
      select
      from clients
      where id = $1
    ) as "isGone"`);

/**
 * Deletes the row of a client whose rows are erased. False while a message of the client is being sent; true also when
 * another process, such as the maintenance job, has deleted the row.
 */
export async function deleteClientRow(db: Queryable, clientId: string): Promise<boolean> {
  const [row] = await db.query<{ isGone: boolean }>(DELETE, [clientId]);
  return row?.isGone ?? false;
}
