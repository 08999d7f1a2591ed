import { randomBytes } from "node:crypto";
import {
  MAX_CLOCK_DIFFERENCE_MS,
  MAX_ID_WAIT_MS,
  MAX_INSERT_DELAY_MS,
  MAX_TRANSACTION_AGE_MS,
  TRANSACTION_LISTING_MS,
} from "../../runtime/deadlines.ts";
import { type Queryable, sql } from "../database/database.ts";

/**
 * A mark is a moment of the event stream. Ids are made before their transactions commit, so the events that were committed at
 * a mark are not those with smaller ids: the mark has a snapshot of Postgres, which tells for each row whether its
 * transaction was committed, and a floor, below which every id was committed.
 */
export interface Mark {
  /** Milliseconds since 1970, by the clock of Postgres. */
  at: number;
  /** An event that is not committed yet has an id of this time or later. */
  floor: number;
  snapshot: Snapshot;
}

/** The transactions that were committed: those before `end`, except the running ones. Numbers are the lower 32 bits of xid8. */
export interface Snapshot {
  /** After a crash Postgres gives lost numbers out again, so those of another generation tell nothing. */
  generation: string;
  end: number;
  running: readonly number[];
}

/** What the sessions of the database tell about the transactions that may still commit events. */
export interface OpenTransactions {
  at: number;
  /** The start of the oldest one; null without any. */
  oldest: number | null;
  /** True when the role of this process may not see all transactions. */
  areHidden: boolean;
}

/**
 * A transaction that has written nothing is forgotten when it is too old to insert events: a backup reads for hours. The server's own
 * processes have no user.
 */
const READ_TRANSACTIONS = sql(`
  select
    (extract(epoch from clock_timestamp()) * 1000)::float8 as at,
    (extract(epoch from min(xact_start) filter (
      where backend_xid is not null
      or xact_start > clock_timestamp() - interval '${MAX_INSERT_DELAY_MS + TRANSACTION_LISTING_MS} milliseconds'
    )) * 1000)::float8 as oldest,
    coalesce(bool_or(backend_type is null or state = 'disabled'), false) as "areHidden"
  from pg_stat_activity
  where datname = current_database()
  and pid <> pg_backend_pid()
  and usesysid is not null
  and coalesce(backend_type, 'client backend') = 'client backend'`);

/**
 * The start of the server distinguishes a copy of the row: that of a dump, or of a server that keeps unlogged tables. It stays
 * the same when a single process of Postgres crashes.
 */
const READ_SNAPSHOT = sql(`
  select
    pg_current_snapshot()::text as text,
    (
      select value || extract(epoch from pg_postmaster_start_time())
      from stream_generation
    ) as generation`);

const BEGIN_GENERATION = sql(`
  insert into stream_generation (value)
  values ($1)
  on conflict do nothing`);

export async function readOpenTransactions(db: Queryable): Promise<OpenTransactions> {
  const [row] = await db.query<OpenTransactions>(READ_TRANSACTIONS);
  return row as OpenTransactions;
}

/**
 * Reads the open transactions before the snapshot, in a statement of its own: one that commits in between is in the snapshot, one
 * that starts in between starts after `at`.
 */
export async function takeMark(db: Queryable): Promise<{ mark: Mark; transactions: OpenTransactions }> {
  const transactions = await readOpenTransactions(db);
  const snapshot = await takeSnapshot(db);
  return { mark: { at: Math.floor(transactions.at), floor: floorOf(transactions), snapshot }, transactions };
}

/** Begins a generation when there is none. Another crash may empty the table again before the second read. */
async function takeSnapshot(db: Queryable): Promise<Snapshot> {
  const [row] = await db.query<SnapshotRow>(READ_SNAPSHOT);
  const { text, generation } = row as SnapshotRow;
  if (generation !== null) return readSnapshot(text, generation);
  await db.query(BEGIN_GENERATION, [randomBytes(6).toString("base64url")]);
  return takeSnapshot(db);
}

interface SnapshotRow {
  text: string;
  generation: string | null;
}

/** An id may be older than its transaction. */
export const MAX_ID_AGE_MS = MAX_ID_WAIT_MS + MAX_CLOCK_DIFFERENCE_MS + TRANSACTION_LISTING_MS;

function floorOf({ at, oldest, areHidden }: OpenTransactions): number {
  const bound = at - MAX_TRANSACTION_AGE_MS;
  const start = areHidden ? bound : Math.max(Math.min(oldest ?? at, at), bound);
  return Math.floor(start) - MAX_ID_AGE_MS;
}

/** A cursor contains the list. Transactions beyond the limit count as not committed, so their events may be repeated. */
const MAX_RUNNING = 400;

const lower32Bits = (xid: string): number => Number(BigInt(xid) & 0xffff_ffffn);

/** Reads the text of a pg_snapshot: `xmin:xmax:xip,…`, in ascending order. */
export function readSnapshot(text: string, generation: string): Snapshot {
  const [, end = "", list = ""] = text.split(":");
  const running = list === "" ? [] : list.split(",").map(lower32Bits);
  return {
    generation,
    end: running[MAX_RUNNING] ?? lower32Bits(end),
    running: running.slice(0, MAX_RUNNING),
  };
}

/**
 * SQL: true when the transaction that wrote a row was committed at a snapshot, given as its `end` and its `running`. Rows are
 * compared near their mark, so 32 bits tell which transaction is the older one.
 */
export const isCommittedAt = (end: string, running: string): string => `(
      (xmin::text::bigint - ${end} + ${2 ** 32 + 2 ** 31}) % ${2 ** 32} < ${2 ** 31}
      and xmin::text::bigint <> all(${running})
    )`;

/** True when one transaction is older than another. */
const isOlder = (one: number, other: number): boolean => (one - other + 2 ** 32) % 2 ** 32 >= 2 ** 31;

/** True when everything that was committed at `other` was committed at `one`: false after a crash or a restore from a backup. */
export const includes = (one: Snapshot, other: Snapshot): boolean =>
  one.generation === other.generation &&
  !isOlder(one.end, other.end) &&
  one.running.every((xid) => !isOlder(xid, other.end) || other.running.includes(xid));
