import { SEND_TTL_MS } from "../../runtime/deadlines.ts";
import { type Queryable, sql } from "../database/database.ts";
import type { FailureGroup, QueueGroup } from "../events/queue-metrics.ts";
import { UNSETTLED_STATUSES } from "./lifecycle.ts";

/**
 * SQL: the situation of the send `send` in the channel `c` and the batch `b`, if it has one. All sends of a paused batch wait for
 * its resumption, and all others that are not scheduled and whose channel is not connected for the channel. Whether those
 * that are due wait for their channel's rate is in Redis.
 */
export const situationOf = (send: string, isDue: string): string => `case
      when ${send}.state = 'claimed' then 'in_flight'
      when ${send}.state = 'unknown' then 'unknown'
      when b.status = 'paused' then 'paused'
      when ${send}.state = 'scheduled' then 'scheduled'
      when c.status <> 'connected' then 'reconnect'
      when ${send}.state = 'behind' then 'order'
      when ${isDue} then 'due'
      else 'retry'
    end`;

/**
 * Counts by channel and batch first, so that these are joined to few rows. A status webhook may settle a message before its send
 * becomes unknown: such a send awaits nothing. Only the messages of unknown sends are read, because these are few.
 */
const GROUP_SENDS = sql(`
  with unfinished as (
    select client_id, channel_id, batch_id, id, state, next_attempt_at, expires_at
    from sends
    where state <> 'unknown'
    union all
    select client_id, channel_id, batch_id, id, state, next_attempt_at, expires_at
    from sends s
    where state = 'unknown'
    and (select m.status from messages m where m.client_id = s.client_id and m.id = s.id) in ${UNSETTLED_STATUSES}
  ),
  counted as (
    select
      client_id,
      channel_id,
      batch_id,
      state,
      next_attempt_at <= now() as is_due,
      count(*) as count,
      min(next_attempt_at) as next_attempt_at,
      min(expires_at) as expires_at,
      min(id) as oldest_id
    from unfinished
    group by 1, 2, 3, 4, 5
  )
  select
    n.client_id,
    n.channel_id,
    ${situationOf("n", "n.is_due")} as situation,
    sum(n.count)::integer as count,
    min(n.next_attempt_at) as next_attempt_at,
    min(n.oldest_id) as oldest_id,
    min(coalesce(b.active_since, n.expires_at - $1 * interval '1 millisecond')) as active_since
  from counted n
  left join channels c on c.client_id = n.client_id and c.id = n.channel_id
  left join batches b on b.client_id = n.client_id and b.id = n.batch_id
  group by 1, 2, 3`);

const COUNT_FAILED = sql(`
  select client_id, false as is_bulk, count(*)::integer as count
  from messages
  where status = 'failed'
  and attempts >= 0 -- a condition of the index on failed_at
  and failed_at > now() - $1 * interval '1 millisecond'
  group by client_id`);

/** Sends of one channel that are in the same situation. */
export interface SendGroup extends QueueGroup {
  channel_id: string;
}

/** Spans all clients: counts the sends that are not finished. */
export const groupSends = (db: Queryable): Promise<SendGroup[]> =>
  db.query<SendGroup>(GROUP_SENDS, [SEND_TTL_MS]);

/** Spans all clients: counts the messages that failed within this time. */
export const countFailedMessages = (db: Queryable, withinMs: number): Promise<FailureGroup[]> =>
  db.query<FailureGroup>(COUNT_FAILED, [withinMs]);
