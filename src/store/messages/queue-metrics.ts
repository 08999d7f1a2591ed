import { type Queryable, sql } from "../database/database.ts";
import type { FailureGroup, QueueGroup } from "../events/queue-metrics.ts";
import { UNSETTLED_STATUSES } from "./lifecycle.ts";

/**
 * SQL: the situation of the send `send` in the channel `c`. All sends of a channel that is not connected wait for it. Whether
 * those that are due wait for their channel's rate is in Redis.
 */
export const situationOf = (send: string, isDue: string): string => `case
      when ${send}.state = 'claimed' then 'in_flight'
      when ${send}.state = 'unknown' then 'unknown'
      when c.status <> 'connected' then 'reconnect'
      when ${send}.state = 'behind' then 'order'
      when ${isDue} then 'due'
      else 'retry'
    end`;

/**
 * Counts by channel first, so that channels are joined to few rows. A status webhook may settle a message before its send
 * becomes unknown: such a send awaits nothing. Only the messages of unknown sends are read, because these are few.
 */
const GROUP_SENDS = sql(`
  with unfinished as (
    select client_id, channel_id, id, state, next_attempt_at
    from sends
    where state <> 'unknown'
    union all
    select client_id, channel_id, id, state, next_attempt_at
    from sends s
    where state = 'unknown'
    and (select m.status from messages m where m.client_id = s.client_id and m.id = s.id) in ${UNSETTLED_STATUSES}
  ),
  counted as (
    select
      client_id,
      channel_id,
      state,
      next_attempt_at <= now() as is_due,
      count(*) as count,
      min(next_attempt_at) as next_attempt_at,
      min(id) as oldest_id
    from unfinished
    group by 1, 2, 3, 4
  )
  select
    n.client_id,
    n.channel_id,
    ${situationOf("n", "n.is_due")} as situation,
    n.count::integer as count,
    n.next_attempt_at,
    n.oldest_id
  from counted n
  left join channels c on c.client_id = n.client_id and c.id = n.channel_id`);

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
export const groupSends = (db: Queryable): Promise<SendGroup[]> => db.query<SendGroup>(GROUP_SENDS);

/** Spans all clients: counts the messages that failed within this time. */
export const countFailedMessages = (db: Queryable, withinMs: number): Promise<FailureGroup[]> =>
  db.query<FailureGroup>(COUNT_FAILED, [withinMs]);
