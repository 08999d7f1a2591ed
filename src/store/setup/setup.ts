import { type Database, type Queryable, sql } from "../database/database.ts";
import { withOrderedScans } from "../database/paging.ts";
import { EVENT_STATUS } from "../events/events.ts";

/**
 * The facts that the setup of a client is judged by. Each statement reads a bounded number of rows along an index, in a
 * transaction of withIndexScans.
 */

/** Runs `work` without sequential scans: Postgres prefers them in partitions of some thousand rows, and reads all rows. */
export const withIndexScans = <T>(db: Database, work: (tx: Queryable) => Promise<T>): Promise<T> =>
  withOrderedScans(db, async (tx) => {
    await tx.query("set local enable_seqscan = off");
    return work(tx);
  });

/** Deliveries of each status, newest or oldest first, whose last attempts are compared. */
const MAX_COMPARED_DELIVERIES = 100;

/** Delivered events that are searched for one that is no test. */
const MAX_SEARCHED_EVENTS = 1_000;

/** Channels, or ad accounts, whose statuses are read. */
const MAX_LISTED_ROWS = 10_000;

/** The last attempt of a delivery. */
interface LatestAttemptRow {
  at: Date;
  status_code: number | null;
  /** Null when the answer was 2xx. */
  error: string | null;
}

/**
 * Deliveries of one status. A range and not an equality: only the index on the status has this order, so that Postgres cannot
 * choose another one, whatever its statistics.
 */
const selectDeliveries = (status: string, order: "asc" | "desc", limit: number): string => `(
    select d.id, d.attempts, d.url
    from deliveries d
    where d.client_id = $1
    and (${EVENT_STATUS}) >= ${status}
    and (${EVENT_STATUS}) <= ${status}
    order by (${EVENT_STATUS}) ${order}, d.id ${order}
    limit ${limit}
  )`;

/**
 * Attempts have no index on their time, and only the address of a delivery's last attempt is stored. In a backlog only the
 * oldest deliveries have attempts.
 */
const FIND_LATEST_ATTEMPT = sql(`
  select a.at, a.status_code, a.error
  from (
    select newest.id, newest.attempts, newest.url
    from (values ('delivered'), ('failed'), ('pending'), ('skipped')) s (status)
    cross join lateral ${selectDeliveries("s.status", "desc", MAX_COMPARED_DELIVERIES)} newest
    union all
    ${selectDeliveries("'pending'", "asc", MAX_COMPARED_DELIVERIES)}
  ) d
  cross join lateral (
    select at, status_code, error
    from attempts
    where client_id = $1
    and id = d.id
    and attempt = d.attempts
    limit 1
  ) a
  where d.url = any($2)
  order by a.at desc
  limit 1`);

/**
 * The latest attempt at one of the addresses, by its time, of at most 500 deliveries: the newest of each status, and those that have
 * waited longest.
 */
export async function findLatestAttempt(
  tx: Queryable,
  clientId: string,
  addresses: readonly string[],
): Promise<LatestAttemptRow | undefined> {
  const [row] = await tx.query<LatestAttemptRow>(FIND_LATEST_ATTEMPT, [clientId, addresses]);
  return row;
}

const HAS_DELIVERED_EVENT = sql(`
  select exists (
    select
    from ${selectDeliveries("'delivered'", "desc", MAX_SEARCHED_EVENTS)} d
    cross join lateral (
      select
      from events
      where client_id = $1
      and id = d.id
      and type <> 'webhook.test'
      and substr(payload, 38, 13) <> '","test":true' -- after the id
      limit 1
    ) e
  ) as found`);

/** Whether one of the 1,000 newest delivered events is no test. */
export async function hasDeliveredEvent(tx: Queryable, clientId: string): Promise<boolean> {
  const [row] = await tx.query<{ found: boolean }>(HAS_DELIVERED_EVENT, [clientId]);
  return row?.found ?? false;
}

/** Jumps from one status to the next along their index, so that the cost depends on the number of statuses only. */
const LIST_NEWEST_BY_STATUS = sql(`
  with recursive newest as (
    (
      select m.status, m.id
      from messages m
      where m.client_id = $1
      order by m.status desc, m.id desc
      limit 1
    )
    union all
    select next.status, next.id
    from newest
    cross join lateral (
      select m.status, m.id
      from messages m
      where m.client_id = $1
      and m.status < newest.status
      order by m.status desc, m.id desc
      limit 1
    ) next
  )
  select status, id
  from newest`);

/** The id of the newest message in each stored status that a message of the client has. */
export async function findNewestMessages(tx: Queryable, clientId: string): Promise<Map<string, string>> {
  const rows = await tx.query<{ status: string; id: string }>(LIST_NEWEST_BY_STATUS, [clientId]);
  return new Map(rows.map(({ status, id }) => [status, id]));
}

const listStatuses = (table: "channels" | "ad_accounts") =>
  sql(`
  select distinct status
  from (
    select status
    from ${table}
    where client_id = $1
    order by id desc
    limit ${MAX_LISTED_ROWS}
  ) newest`);

const LIST_STATUSES = { channels: listStatuses("channels"), ad_accounts: listStatuses("ad_accounts") };

/** The statuses that the client's 10,000 newest channels or ad accounts have. */
export async function readStatuses(
  tx: Queryable,
  clientId: string,
  table: keyof typeof LIST_STATUSES,
): Promise<Set<string>> {
  const rows = await tx.query<{ status: string }>(LIST_STATUSES[table], [clientId]);
  return new Set(rows.map(({ status }) => status));
}
