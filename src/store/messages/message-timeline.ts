import { firstIdAt, timeOfId } from "../../runtime/ids.ts";
import { type Queryable, sql } from "../database/database.ts";
import { MESSAGE_COLUMNS, type MessageRow } from "./messages.ts";
import type { StoredAttempt } from "./platform-attempts.ts";

/** A message with its request and its attempts at the platform, oldest first. */
export interface MessageHistoryRow extends MessageRow {
  /** Null for a message that was accepted before requests were stored. */
  request_id: string | null;
  platform_attempts: StoredAttempt[];
}

const FIND = sql(`
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
  const [row] = await db.query<MessageHistoryRow>(FIND, [clientId, id]);
  return row;
}

/** One lookup per client: the id alone has no index. */
const FIND_OWNER = sql(`
  select c.id
  from clients c
  cross join lateral (
    select 1
    from messages m
    where m.client_id = c.id
    and m.id = $1
    limit 1
  ) found
  limit 1`);

/** Spans all clients: finds the client of a message. */
export async function findMessageOwner(db: Queryable, id: string): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(FIND_OWNER, [id]);
  return row?.id;
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
const MAX_CLOCK_SKEW_MS = 60_000;

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
