import { firstIdAt, nearestIdAt, timeOfId } from "../../runtime/ids.ts";
import { type Database, type Queryable, sql } from "../database/database.ts";
import {
  filterCondition,
  findRarest,
  type IndexedFilter,
  type Order,
  type PageRequest,
  withOrderedScans,
} from "../database/paging.ts";
import type { StoredAttempt } from "./lifecycle.ts";

/** A message, and the state of its send while it has one. */
export interface MessageRow {
  id: string;
  channel_id: string;
  platform: string;
  recipient: string;
  recipient_kind: string;
  external_ref: string | null;
  /** The status shown to clients. */
  status: string;
  /** Start of the first attempt, while the message is not settled. */
  started_at: Date | null;
  timeline: { status: string; at: string }[];
  platform_message_id: string | null;
  error: string | null;
  attempts: number;
  batch_id: string | null;
  send_at: Date | null;
}

export interface MessageFilters {
  channel_id?: string;
  batch_id?: string;
  status?: string;
  to?: string;
  external_ref?: string;
  /** When the message was accepted; both bounds are inclusive. */
  since?: Date;
  until?: Date;
}

/**
 * SQL: true when the send `s`, which may be missing, was started. Stays true, because no status goes
 * backwards.
 */
const IS_STARTED = "s.state <> 'unknown' and s.started_at is not null";

/** Columns of a message `m` and its send `s`, which may be missing. */
export const MESSAGE_COLUMNS = `
    m.id, m.channel_id, m.platform, m.recipient, m.recipient_kind, m.external_ref,
    case when m.status = 'queued' and ${IS_STARTED} then 'sending' else m.status end as status,
    s.started_at, m.timeline, m.platform_message_id, m.error, coalesce(s.attempts, m.attempts) as attempts,
    m.batch_id, m.send_at`;

const FIND = sql(`
  select ${MESSAGE_COLUMNS}
  from messages m
  left join sends s on s.client_id = m.client_id and s.id = m.id
  where m.client_id = $1
  and m.id = $2`);

export async function findMessage(
  db: Queryable,
  clientId: string,
  id: string,
): Promise<MessageRow | undefined> {
  const [row] = await db.query<MessageRow>(FIND, [clientId, id]);
  return row;
}

/**
 * Reads the first entry of each partition's index on the status. A range and not an equality: no other index has this order, so
 * that Postgres cannot choose it and read all messages of a client of which none waits.
 */
const FIND_OLDEST_QUEUED = sql(`
  select id
  from messages
  where client_id = $1
  and status >= 'queued'
  and status <= 'queued'
  order by status, id
  limit 1`);

/** The id of the client's oldest message that waits to be sent, scheduled ones aside. */
export const findOldestQueued = (db: Database, clientId: string): Promise<string | undefined> =>
  withOrderedScans(db, async (tx) => {
    const [row] = await tx.query<{ id: string }>(FIND_OLDEST_QUEUED, [clientId]);
    return row?.id;
  });

/** A message as it was accepted. */
export interface MessageDetailRow extends MessageRow {
  type: string;
  /** JSON; in a batch: of the fields that replace those of the batch's content, null without any. */
  content: string | null;
  /** JSON of the content that the messages of a batch share; null outside of a batch, or when the batch is deleted. */
  batch_content: string | null;
  /** JSON of context, messaging_type and tag; null without any. */
  options: string | null;
}

const FIND_DETAIL = sql(`
  select ${MESSAGE_COLUMNS}, m.type, m.content, b.content as batch_content, m.options
  from messages m
  left join sends s on s.client_id = m.client_id and s.id = m.id
  left join batches b on b.client_id = m.client_id and b.id = m.batch_id
  where m.client_id = $1
  and m.id = $2`);

/** Reads the content too, which can be large: lists do not. */
export async function findMessageDetail(
  db: Queryable,
  clientId: string,
  id: string,
): Promise<MessageDetailRow | undefined> {
  const [row] = await db.query<MessageDetailRow>(FIND_DETAIL, [clientId, id]);
  return row;
}

/** Each column has an index ordered by id. */
const FILTER_COLUMNS = {
  channel_id: "channel_id",
  batch_id: "batch_id",
  to: "recipient",
  external_ref: "external_ref",
} as const;
type FilterName = keyof typeof FILTER_COLUMNS | "status";

interface MessageFilter extends IndexedFilter {
  name: FilterName;
}

type Bind = (value: unknown) => string;

interface MessageSearch {
  page: PageRequest;
  filters: MessageFilters;
}

/** Newest first, with one row more than the limit if there is one; `before` reads backwards. */
export const listMessages = (db: Database, clientId: string, search: MessageSearch): Promise<MessageRow[]> =>
  withOrderedScans(db, async (tx) => {
    const { text, values } = listStatement(clientId, search, await findScannedFilter(tx, clientId, search));
    return tx.query<MessageRow>(text, values);
  });

/** Returns the filter whose index a list scans. */
export async function findScannedFilter(
  tx: Queryable,
  clientId: string,
  search: MessageSearch,
): Promise<FilterName | undefined> {
  const values: unknown[] = [];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const range = rangeOf(clientId, search, bind);
  const rarest = await findRarest(tx, indexedFilters(search.filters, bind), {
    order: orderOf(search.page),
    rangeOf: () => range,
    values,
  });
  return rarest?.name;
}

/** Built and planned for the given filters. */
export function listStatement(clientId: string, search: MessageSearch, scanned: FilterName | undefined) {
  const values: unknown[] = [];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const { page, filters } = search;
  const order = orderOf(page);
  const conditions = [
    ...rangeOf(clientId, search, bind),
    ...indexedFilters(filters, bind).map((filter) => filterCondition(filter, filter.name === scanned)),
    ...sendConditions(filters.status),
  ];
  const text = `
  select ${MESSAGE_COLUMNS}
  from (
    select *
    from messages m
    where ${conditions.join("\n    and ")}
    order by m.id ${order}
    limit ${bind(page.limit + 1)}
  ) m
  left join lateral (
    select state, attempts, started_at, sending_at
    from sends
    where client_id = m.client_id
    and id = m.id
    limit 1
  ) s on true
  order by m.id ${order}`;
  return { text, values };
}

const orderOf = ({ before }: PageRequest): Order => (before === undefined ? "desc" : "asc");

/** The messages of the client from the position of the page on, within the period. */
function rangeOf(clientId: string, { page, filters }: MessageSearch, bind: Bind): string[] {
  const { after, before } = page;
  const { since, until } = filters;
  return [
    `m.client_id = ${bind(clientId)}`,
    ...(after === undefined ? [] : [`m.id < ${bind(after)}`]),
    ...(before === undefined ? [] : [`m.id > ${bind(before)}`]),
    ...(since ? [`m.id >= ${bind(nearestIdAt("msg", since.getTime()))}`] : []),
    ...(until ? [`m.id < ${bind(nearestIdAt("msg", until.getTime() + 1))}`] : []),
  ];
}

/** `sending` is derived from the send; the message itself is still `queued`. */
function indexedFilters(filters: MessageFilters, bind: Bind): MessageFilter[] {
  const columns = Object.entries(FILTER_COLUMNS) as [keyof typeof FILTER_COLUMNS, string][];
  const toFilter = (name: FilterName, column: string, value: string): MessageFilter => ({
    name,
    table: "messages",
    alias: "m",
    column: `m.${column}`,
    value: bind(value),
  });
  const { status } = filters;
  return [
    ...columns.flatMap(([name, column]) =>
      filters[name] === undefined ? [] : [toFilter(name, column, filters[name])],
    ),
    ...(status === undefined ? [] : [toFilter("status", "status", status === "sending" ? "queued" : status)]),
  ];
}

/** A scalar subquery, looked up row by row: a join might read all sends. */
const HAS_STARTED_SEND = `coalesce((
      select ${IS_STARTED}
      from sends s
      where s.client_id = m.client_id
      and s.id = m.id
    ), false)`;

function sendConditions(status: string | undefined): string[] {
  if (status === "queued") return [`not ${HAS_STARTED_SEND}`];
  return status === "sending" ? [HAS_STARTED_SEND] : [];
}

/** A message with its request and its attempts at the platform, oldest first. */
export interface MessageHistoryRow extends MessageRow {
  /** Null for a message that was accepted before requests were stored. */
  request_id: string | null;
  platform_attempts: StoredAttempt[];
}

const FIND_TIMELINE = sql(`
  select ${MESSAGE_COLUMNS}, m.request_id, m.platform_attempts
  from messages m
  left join sends s on s.client_id = m.client_id and s.id = m.id
  where m.client_id = $1
  and m.id = $2`);

export async function findMessageHistory(
  db: Queryable,
  clientId: string,
  id: string,
): Promise<MessageHistoryRow | undefined> {
  const [row] = await db.query<MessageHistoryRow>(FIND_TIMELINE, [clientId, id]);
  return row;
}

export interface MessageEventRef {
  id: string;
  type: string;
}

/** The lowest possible id lets Postgres skip the partitions before the message. */
const LIST_EVENTS = sql(`
  select id, type
  from events
  where client_id = $1
  and message_id = $2
  and id >= $3
  order by id
  limit $4`);

/** Assumed maximum difference between the clocks of two processes. */
export const MAX_CLOCK_SKEW_MS = 60_000;

/** The oldest events about the message, oldest first. */
export const listMessageEvents = (
  db: Queryable,
  clientId: string,
  { messageId, limit }: { messageId: string; limit: number },
): Promise<MessageEventRef[]> => {
  const firstId = firstIdAt("evt", timeOfId(messageId) - MAX_CLOCK_SKEW_MS);
  return db.query<MessageEventRef>(LIST_EVENTS, [clientId, messageId, firstId, limit]);
};

export interface EventAttemptRow {
  event_id: string;
  attempt: number;
  at: Date;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
}

const LIST_ATTEMPTS = sql(`
  select id as event_id, attempt, at, status_code, duration_ms, error
  from attempts
  where client_id = $1
  and id = any($2)
  order by at, id, attempt
  limit $3`);

/** The oldest delivery attempts of these events, oldest first. */
export const listEventAttempts = (
  db: Queryable,
  clientId: string,
  { eventIds, limit }: { eventIds: readonly string[]; limit: number },
): Promise<EventAttemptRow[]> => db.query<EventAttemptRow>(LIST_ATTEMPTS, [clientId, eventIds, limit]);
