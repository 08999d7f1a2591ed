import { firstIdAt, timeOfId } from "../../runtime/ids.ts";
import { type Queryable, sql } from "../database/database.ts";
import type { QueueGroup } from "../events/queue-metrics.ts";
import { MAX_CLOCK_SKEW_MS, MESSAGE_COLUMNS, type MessageRow } from "./messages.ts";
import { situationOf } from "./queue-metrics.ts";

/** A message with everything that decides why it waits or has failed. */
export interface ExplainedRow extends MessageRow {
  /** Why its send waits. Without meaning when it has none. */
  situation: QueueGroup["situation"];
  next_attempt_at: Date | null;
  expires_at: Date | null;
  claimed_at: Date | null;
  /** The time of the last attempt, and why it failed, as JSON. */
  last_attempt_at: string | null;
  last_attempt_error: string | null;
  channel_status: string | null;
  /** Since when its batch is paused; null if it is not. */
  paused_at: Date | null;
  held_since: Date | null;
}

const FIND = sql(`
  select
    ${MESSAGE_COLUMNS}, m.platform_attempts -> -1 ->> 'at' as last_attempt_at,
    m.platform_attempts -> -1 ->> 'error' as last_attempt_error,
    ${situationOf("s", "s.next_attempt_at <= now()")} as situation,
    s.next_attempt_at, least(s.expires_at, b.expires_at) as expires_at, s.claimed_at, c.status as channel_status, b.paused_at,
    h.since as held_since
  from messages m
  left join sends s on s.client_id = m.client_id and s.id = m.id
  left join channels c on c.client_id = m.client_id and c.id = m.channel_id
  left join batches b on b.client_id = m.client_id and b.id = m.batch_id
  left join queue_hold h on true
  where m.client_id = $1
  and m.id = $2`);

export async function findExplainedMessage(
  db: Queryable,
  clientId: string,
  id: string,
): Promise<ExplainedRow | undefined> {
  const [row] = await db.query<ExplainedRow>(FIND, [clientId, id]);
  return row;
}

/** An event about a message that the client's backend has not accepted. */
export interface UndeliveredEvent {
  id: string;
  state: "pending" | "retrying" | "failed";
  next_attempt_at: Date | null;
  failed_at: Date | null;
  last_error: string | null;
}

/** Failed ones first, because they are not tried again; then the oldest. */
const FIND_UNDELIVERED = sql(`
  select e.id, d.state, d.next_attempt_at, d.failed_at, d.last_error
  from events e
  join deliveries d on d.client_id = e.client_id and d.id = e.id
  where e.client_id = $1
  and e.message_id = $2
  and e.id >= $3
  and d.id >= $3
  and d.state in ('pending', 'retrying', 'failed')
  order by d.state = 'failed' desc, e.id
  limit 1`);

export async function findUndeliveredEvent(
  db: Queryable,
  clientId: string,
  messageId: string,
): Promise<UndeliveredEvent | undefined> {
  const firstId = firstIdAt("evt", timeOfId(messageId) - MAX_CLOCK_SKEW_MS);
  const [event] = await db.query<UndeliveredEvent>(FIND_UNDELIVERED, [clientId, messageId, firstId]);
  return event;
}
