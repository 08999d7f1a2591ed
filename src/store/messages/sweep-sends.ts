import { RECONNECT_CHECK_MS } from "../../runtime/deadlines.ts";
import { type Queryable, sql } from "../database/database.ts";
import { IS_NOT_QUARANTINED, IS_NOT_SUSPECT, IS_SUSPECT } from "../processes/deaths.ts";
import type { SendRef } from "./claim-sends.ts";

/** Everything here spans all clients: it re-queues due sends, including those of dead dispatchers. */

/** A channel with waiting sends that are not enqueued. */
export interface WaitingChannel {
  id: string;
  platform: string;
  status: string;
}

/** Finds each channel with one index access: a scan of all waiting sends would take longer the more of them wait. */
const LIST_WAITING_CHANNELS = sql(`
  with recursive found as (
    (
      select channel_id
      from sends
      where state = 'waiting'
      and enqueued_at is null
      order by channel_id
      limit 1
    )
    union all
    select (
      select s.channel_id
      from sends s
      where s.state = 'waiting'
      and s.enqueued_at is null
      and s.channel_id > f.channel_id
      order by s.channel_id
      limit 1
    )
    from found f
    where f.channel_id is not null
  )
  select c.id, c.platform, c.status
  from found f
  join channels c on c.id = f.channel_id`);

export const listWaitingChannels = (tx: Queryable): Promise<WaitingChannel[]> =>
  tx.query<WaitingChannel>(LIST_WAITING_CHANNELS);

/**
 * Sends that wait for a reconnect are checked rarely: the reconnect itself makes them due. Without the lock
 * on the channel, a send could be postponed after a concurrent reconnect has made it due.
 */
const POSTPONE_UNCONNECTED = sql(`
  with unconnected as materialized (
    select s.client_id, s.id
    from sends s
    join channels c on c.id = s.channel_id
    where s.channel_id = any($2)
    and s.state = 'waiting'
    and s.enqueued_at is null
    and s.next_attempt_at <= now()
    and c.status = 'needs_reauth'
    limit 1000
    for update of s skip locked
    for share of c skip locked
  )
  update sends s
  set next_attempt_at = least(s.expires_at, now() + $1 * interval '1 millisecond')
  from unconnected u
  where s.client_id = u.client_id
  and s.id = u.id`);

export async function postponeUnconnectedSends(tx: Queryable, channelIds: readonly string[]): Promise<void> {
  if (channelIds.length > 0) await tx.query(POSTPONE_UNCONNECTED, [RECONNECT_CHECK_MS, channelIds]);
}

const selectConnected = (condition: string) => `
    select s.client_id, s.id
    from sends s
    join channels c on c.id = s.channel_id and c.status = 'connected'
    where s.state = 'waiting'
    and s.next_attempt_at <= now()
    and ${condition}`;

/** Sends of an unreachable platform stay enqueued until it is reachable. */
const selectDue = (condition: string, order: string) => `${selectConnected(`s.${IS_NOT_SUSPECT}`)}
    and c.platform <> all($5)
    and ${condition}
    order by ${order}
    limit $3
    for update of s skip locked`;

/** SQL: true for a send that was enqueued in this Redis epoch and may still be in a stream. */
const isInStream = (send: string) =>
  `(${send}.queue_epoch = $1 and ${send}.enqueued_at >= now() - $2 * interval '1 millisecond') is true`;

/** One suspect at a time, over all dispatchers, so that none adds its deaths to another. */
const SELECT_SUSPECT = `${selectConnected(`s.${IS_SUSPECT} and s.${IS_NOT_QUARANTINED}`)}
    and not exists (
      select
      from sends other
      where other.${IS_SUSPECT}
      and (other.state = 'in_hand' or other.state = 'waiting' and ${isInStream("other")})
    )
    order by s.next_attempt_at
    limit 1
    for update of s skip locked`;

/** The sends of these channels that have been due longest, as many of each channel. */
const SELECT_NEVER = `
    select n.client_id, n.id
    from unnest($4::text[]) as w (channel_id)
    cross join lateral (${selectConnected(`s.${IS_NOT_SUSPECT}`)}
      and s.channel_id = w.channel_id
      and s.enqueued_at is null
      order by s.next_attempt_at
      limit ceil($3::numeric / greatest(1, cardinality($4::text[])))
      for update of s skip locked
    ) n
    limit $3::integer`;

/** Selects sends never enqueued, enqueued in another Redis epoch, or enqueued long ago; and one suspect. */
const ENQUEUE = sql(`
  with never as materialized (${SELECT_NEVER}
  ),
  before_epoch as materialized (${selectDue("s.enqueued_at is not null and s.queue_epoch < $1", "s.queue_epoch, s.enqueued_at")}
  ),
  after_epoch as materialized (${selectDue("s.enqueued_at is not null and s.queue_epoch > $1", "s.queue_epoch, s.enqueued_at")}
  ),
  stranded as materialized (${selectDue(
    "s.queue_epoch = $1 and s.enqueued_at < now() - $2 * interval '1 millisecond'",
    "s.enqueued_at",
  )}
  ),
  suspect as materialized (${SELECT_SUSPECT}
  ),
  chosen as (
    select client_id, id from never
    union all
    select client_id, id from before_epoch
    union all
    select client_id, id from after_epoch
    union all
    select client_id, id from stranded
    union all
    select client_id, id from suspect
  )
  update sends s
  set enqueued_at = now(), queue_epoch = $1
  from chosen o
  where s.client_id = o.client_id
  and s.id = o.id
  returning s.client_id as "clientId", s.id, s.channel_id as "channelId", s.slot_at as "slotAt", s.place`);

interface EnqueueInput {
  /** The current Redis epoch. */
  epoch: string;
  strandedAfter: number;
  limit: number;
  /** Channels whose sends that are not enqueued may be enqueued. */
  channelIds: readonly string[];
  /** Platforms whose sends are not enqueued again. */
  unreachablePlatforms: readonly string[];
}

/** Marks due sends as enqueued and returns them in the order of their acceptance. */
export async function enqueueSends(tx: Queryable, input: EnqueueInput): Promise<SendRef[]> {
  const { epoch, strandedAfter, limit, channelIds, unreachablePlatforms } = input;
  type Row = Omit<SendRef, "slotAt"> & { slotAt: Date | null; place: string };
  const rows = await tx.query<Row>(ENQUEUE, [epoch, strandedAfter, limit, channelIds, unreachablePlatforms]);
  return rows
    .sort((one, other) => Number(one.place) - Number(other.place))
    .map(({ place, slotAt, ...ref }) => ({ ...ref, ...(slotAt ? { slotAt: slotAt.getTime() } : {}) }));
}
