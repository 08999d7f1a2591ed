import { RECONNECT_CHECK_MS } from "../../runtime/deadlines.ts";
import { type Queryable, sql } from "../database/database.ts";
import { IS_NOT_QUARANTINED, IS_NOT_SUSPECT, IS_SUSPECT } from "../processes/deaths.ts";
import type { SendRef } from "./claim-sends.ts";

/** Everything here spans all clients: it re-queues due sends, including those of dead dispatchers. */

/**
 * Sends that wait for a reconnect are checked rarely: the reconnect itself makes them due. Without the lock
 * on the channel, a send could be postponed after a concurrent reconnect has made it due.
 */
const POSTPONE_UNCONNECTED = sql(`
  with unconnected as materialized (
    select s.client_id, s.id
    from sends s
    join channels c on c.id = s.channel_id
    where s.state = 'waiting'
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

export async function postponeUnconnectedSends(tx: Queryable): Promise<void> {
  await tx.query(POSTPONE_UNCONNECTED, [RECONNECT_CHECK_MS]);
}

const selectConnected = (condition: string) => `
    select s.client_id, s.id
    from sends s
    join channels c on c.id = s.channel_id and c.status = 'connected'
    where s.state = 'waiting'
    and s.next_attempt_at <= now()
    and ${condition}`;

const selectDue = (condition: string, order: string) => `${selectConnected(`s.${IS_NOT_SUSPECT}`)}
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

/** Selects sends never enqueued, enqueued in another Redis epoch, or enqueued long ago; and one suspect. */
const ENQUEUE = sql(`
  with never as materialized (${selectDue("s.enqueued_at is null", "s.next_attempt_at")}
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
}

/** Marks due sends as enqueued and returns them in the order of their acceptance. */
export async function enqueueSends(tx: Queryable, input: EnqueueInput): Promise<SendRef[]> {
  const { epoch, strandedAfter, limit } = input;
  type Row = Omit<SendRef, "slotAt"> & { slotAt: Date | null; place: string };
  const rows = await tx.query<Row>(ENQUEUE, [epoch, strandedAfter, limit]);
  return rows
    .sort((one, other) => Number(one.place) - Number(other.place))
    .map(({ place, slotAt, ...ref }) => ({ ...ref, ...(slotAt ? { slotAt: slotAt.getTime() } : {}) }));
}
