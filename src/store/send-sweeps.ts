import { type Queryable, sql } from "./database.ts";
import { IS_FIRST, type SendRef } from "./sends.ts";

/** Everything here is over all clients: it keeps the sending going, whoever has died over it. */

const LOCK = sql("select pg_try_advisory_xact_lock(hashtext('herald:sweep sends')) as locked");

/** One at a time; it lasts as long as the transaction. */
export async function lockSendSweep(tx: Queryable): Promise<boolean> {
  const [row] = await tx.query<{ locked: boolean }>(LOCK);
  return row?.locked ?? false;
}

/** A message of which its client is to hear. */
export interface SettledSend {
  client_id: string;
  id: string;
  channel_id: string;
  platform: string;
  recipient: string;
  external_ref: string | null;
  platform_message_id: string | null;
  /** Why it failed, as JSON. */
  error: string | null;
}

const SETTLED = `
    m.client_id, m.id, m.channel_id, m.platform, m.recipient, m.platform_message_id, m.error,
    coalesce(m.external_ref, (select c.external_ref from channels c where c.id = m.channel_id)) as external_ref`;

/** Whose request was not written yet is due again, at once. */
const RELEASE = sql(`
  update sends
  set state = 'waiting', enqueued_at = null, worker_id = null, lease = null, claimed_at = null
  where state = 'in_hand'
  and sending_at is null
  and (
    claimed_at < now() - $2 * interval '1 millisecond'
    or claimed_at < now() - $1 * interval '1 millisecond' and not exists (
      select
      from workers w
      where w.id = worker_id
      and w.heartbeat_at > now() - $1 * interval '1 millisecond'
    )
  )
  returning 1 as one`);

/** Whose request may have been written is not sent again. Of what the platform has told meanwhile nothing is unknown. */
const DOUBT = sql(`
  with lost as materialized (
    select s.client_id, s.id, s.attempts + 1 as attempts, s.started_at
    from sends s
    where s.state = 'in_hand'
    and s.sending_at is not null
    and (
      s.claimed_at < now() - $2 * interval '1 millisecond'
      or s.claimed_at < now() - $1 * interval '1 millisecond' and not exists (
        select
        from workers w
        where w.id = s.worker_id
        and w.heartbeat_at > now() - $1 * interval '1 millisecond'
      )
    )
    order by s.id
    limit 500
    for update of s skip locked
  ),
  doubted as (
    update sends s
    set
      state = 'unknown',
      attempts = l.attempts,
      next_attempt_at = now() + $3 * interval '1 millisecond',
      enqueued_at = null,
      worker_id = null,
      claimed_at = null
    from lost l
    where s.client_id = l.client_id
    and s.id = l.id
  )
  update messages m
  set
    status = case m.status when 'queued' then 'unknown' else m.status end,
    timeline = jsonb_build_array(jsonb_build_object('status', 'sending', 'at', l.started_at)) || case m.status
      when 'queued' then jsonb_build_array(jsonb_build_object('status', 'unknown', 'at', now()))
      else m.timeline
    end,
    attempts = l.attempts
  from lost l
  where l.id like 'msg%'
  and m.client_id = l.client_id
  and m.id = l.id
  returning ${SETTLED}, m.status`);

interface Silence {
  /** Milliseconds after which a worker that says nothing is dead. */
  deadAfter: number;
  /** Milliseconds that nothing is in hand for, whoever says they live. */
  longest: number;
}

/** Makes due again what the dead had not begun to send; answers how much. */
export async function releaseSends(tx: Queryable, { deadAfter, longest }: Silence): Promise<number> {
  const rows = await tx.query(RELEASE, [deadAfter, longest]);
  return rows.length;
}

/** Puts in doubt what the dead may have sent; word of it is waited for `wait` milliseconds. */
export const doubtSends = (
  tx: Queryable,
  { deadAfter, longest, wait }: Silence & { wait: number },
): Promise<(SettledSend & { status: string })[]> => tx.query(DOUBT, [deadAfter, longest, wait]);

const failing = (which: string, error: string) => `
  with over as materialized (
    select s.client_id, s.id, s.attempts, s.started_at, ${error} as error
    from sends s
    join channels c on c.id = s.channel_id
    where ${which}
    limit 500
    for update of s skip locked
  ),
  gone as (
    delete from sends s
    using over o
    where s.client_id = o.client_id
    and s.id = o.id
  )
  update messages m
  set
    status = 'failed',
    timeline = case
      when o.started_at is null or m.timeline @> '[{"status": "sending"}]' then m.timeline
      else m.timeline || jsonb_build_array(jsonb_build_object('status', 'sending', 'at', o.started_at))
    end || jsonb_build_array(jsonb_build_object('status', 'failed', 'at', now())),
    error = o.error,
    attempts = o.attempts
  from over o
  where o.id like 'msg%'
  and m.client_id = o.client_id
  and m.id = o.id
  and m.status in ('queued', 'unknown')
  returning ${SETTLED}`;

const FAIL_UNKNOWN = sql(failing("s.state = 'unknown' and s.next_attempt_at <= now()", "$1"));

const FAIL_EXPIRED = sql(
  failing(
    "s.state = 'waiting' and s.expires_at <= now()",
    "case when c.status <> 'connected' then $2 else coalesce(s.last_error, $1) end",
  ),
);

const FAIL_DISCONNECTED = sql(
  failing(
    "s.state = 'waiting' and s.enqueued_at is null and s.next_attempt_at <= now() and c.status = 'disconnected'",
    "$1",
  ),
);

/** Nobody has said what became of these, and nobody will. */
export const failUnknown = (tx: Queryable, error: string): Promise<SettledSend[]> =>
  tx.query<SettledSend>(FAIL_UNKNOWN, [error]);

/** These could not be sent in all their time: for the last reason, or because their channel was not connected. */
export const failExpired = (
  tx: Queryable,
  { expired, unconnected }: { expired: string; unconnected: string },
): Promise<SettledSend[]> => tx.query<SettledSend>(FAIL_EXPIRED, [expired, unconnected]);

/** Their channel was given up. */
export const failDisconnected = (tx: Queryable, error: string): Promise<SettledSend[]> =>
  tx.query<SettledSend>(FAIL_DISCONNECTED, [error]);

/** What waits for a reconnect is looked at once a minute; the reconnect itself makes it due. */
const PUT_OFF = sql(`
  update sends
  set next_attempt_at = least(expires_at, now() + interval '1 minute')
  where (client_id, id) in (
    select s.client_id, s.id
    from sends s
    join channels c on c.id = s.channel_id
    where s.state = 'waiting'
    and s.enqueued_at is null
    and s.next_attempt_at <= now()
    and c.status = 'needs_reauth'
    limit 1000
  )`);

export async function putOffUnconnected(tx: Queryable): Promise<void> {
  await tx.query(PUT_OFF);
}

const RESUME = sql(`
  update sends
  set next_attempt_at = now(), enqueued_at = null
  where channel_id = $1
  and client_id = $2
  and state = 'waiting'`);

/** What has waited for the channel is due. */
export async function resumeSends(tx: Queryable, clientId: string, channelId: string): Promise<void> {
  await tx.query(RESUME, [channelId, clientId]);
}

const picked = (condition: string, order: string) => `
    select s.client_id, s.id
    from sends s
    join channels c on c.id = s.channel_id and c.status = 'connected'
    where s.state = 'waiting'
    and s.next_attempt_at <= now()
    and ${condition}
    and ${IS_FIRST}
    order by ${order}
    limit $3
    for update of s skip locked`;

/** Never given to the queue, or to a former life of Redis, or long ago and not taken up since. */
const ENQUEUE = sql(`
  with never as materialized (${picked("s.enqueued_at is null", "s.next_attempt_at")}
  ),
  before_epoch as materialized (${picked("s.enqueued_at is not null and s.queue_epoch < $1", "s.queue_epoch, s.enqueued_at")}
  ),
  after_epoch as materialized (${picked("s.enqueued_at is not null and s.queue_epoch > $1", "s.queue_epoch, s.enqueued_at")}
  ),
  stranded as materialized (${picked(
    "s.queue_epoch = $1 and s.enqueued_at < now() - $2 * interval '1 millisecond'",
    "s.enqueued_at",
  )}
  ),
  chosen as (
    select client_id, id from never
    union all
    select client_id, id from before_epoch
    union all
    select client_id, id from after_epoch
    union all
    select client_id, id from stranded
  )
  update sends s
  set enqueued_at = now(), queue_epoch = $1
  from chosen o
  where s.client_id = o.client_id
  and s.id = o.id
  returning s.client_id as "clientId", s.id, s.channel_id as "channelId", s.slot_at as "slotAt", s.place`);

interface EnqueueWish {
  /** The life of Redis that it is now. */
  epoch: string;
  strandedAfter: number;
  limit: number;
}

/** Marks those that may go out as given to the queue, and answers them in the order of their acceptance. */
export async function enqueueSends(tx: Queryable, wish: EnqueueWish): Promise<SendRef[]> {
  const { epoch, strandedAfter, limit } = wish;
  type Row = Omit<SendRef, "slotAt"> & { slotAt: Date | null; place: string };
  const rows = await tx.query<Row>(ENQUEUE, [epoch, strandedAfter, limit]);
  return rows
    .sort((one, other) => Number(one.place) - Number(other.place))
    .map(({ place, slotAt, ...ref }) => ({ ...ref, ...(slotAt ? { slotAt: slotAt.getTime() } : {}) }));
}
