import { SEND_CLAIM_AHEAD_MS } from "../../runtime/deadlines.ts";
import { type Queryable, sql } from "../database/database.ts";
import { sortById } from "../events/delivery-refs.ts";
import { TO_BE_SENT_STATES, UNSETTLED_STATUSES } from "./lifecycle.ts";

/** Everything here is over all clients: the queue of what is to be said to people, whoever says it. */

/** A message to be sent; where its channel's rate made it wait, when its turn was to come, in milliseconds since 1970. */
export interface SendRef {
  clientId: string;
  id: string;
  channelId: string;
  slotAt?: number | undefined;
}

/** As arrays for a statement: clients, ids, moments. */
function columnsOf(refs: readonly SendRef[]): [string[], string[], (Date | null)[]] {
  const ordered = sortById(refs);
  const slots = ordered.map(({ slotAt }) => (slotAt === undefined ? null : new Date(slotAt)));
  return [ordered.map(({ clientId }) => clientId), ordered.map(({ id }) => id), slots];
}

const SEND_REFS = "unnest($1::uuid[], $2::text[], $3::timestamptz[]) as w (client_id, id, slot_at)";

const UNMARK_QUEUED = sql(`
  update sends s
  set
    enqueued_at = null,
    slot_at = w.slot_at,
    next_attempt_at = coalesce(w.slot_at, s.next_attempt_at)
  from ${SEND_REFS}
  where s.client_id = w.client_id
  and s.id = w.id
  and s.state = 'waiting'
  and s.next_attempt_at <= now()`);

/** Says of those that are due that they are in no queue; one that has a moment is due then. */
export async function unmarkQueuedSends(db: Queryable, refs: readonly SendRef[]): Promise<void> {
  await db.query(UNMARK_QUEUED, columnsOf(refs));
}

/**
 * SQL: whether later messages to the same person wait for this send. A retry holds them up only while it is due within
 * `maxRetryMs`, a parameter that gets MAX_BLOCKING_RETRY_MS.
 */
export const isBlockingLaterSends = (send: string, maxRetryMs: string): string =>
  `(${send}.state in ${TO_BE_SENT_STATES} and (${send}.attempts = 0 or ${send}.next_attempt_at < now() + ${maxRetryMs} * interval '1 millisecond'))`;

/** A message in hand, and the channel that is to say it. */
export interface ClaimedSend {
  client_id: string;
  id: string;
  attempts: number;
  /** Why it has to be repeated, as JSON; null at the first time. */
  last_error: string | null;
  parts_sent: number;
  /** Of the part that went out before. */
  platform_message_id: string | null;
  expires_at: Date;
  recipient: string;
  platform: string;
  type: string;
  content: string;
  options: string | null;
  /** The message's own, or its channel's. */
  external_ref: string | null;
  channel_id: string;
  waba_id: string | null;
  phone_number_id: string | null;
  page_id: string | null;
  token_sealed: string;
}

/**
 * What is not taken, because its channel is not connected or its time is over, is in no queue any more. What the platform has
 * told of since it went back is not sent again; one that is unknown, although its sender came back and said that it was refused,
 * is.
 */
const CLAIM = sql(`
  with told as (
    delete from sends s
    using ${SEND_REFS}
    join messages m on m.client_id = w.client_id and m.id = w.id
    where w.id like 'msg%'
    and s.client_id = w.client_id
    and s.id = w.id
    and s.state = 'waiting'
    and m.status not in ${UNSETTLED_STATUSES}
    returning s.id
  ),
  claimed as (
    update sends s
    set state = 'in_hand', worker_id = $5, lease = $4, claimed_at = now()
    from ${SEND_REFS}, channels c
    where s.client_id = w.client_id
    and s.id = w.id
    and s.id not in (select id from told)
    and c.id = s.channel_id
    and c.status = 'connected'
    and c.token_sealed is not null
    and (
      s.state = 'waiting'
      and s.next_attempt_at <= now() + $6 * interval '1 millisecond'
      and s.expires_at > now()
      or s.state = 'in_hand' and s.lease = $4
    )
    returning
      s.client_id, s.id, s.attempts, s.last_error, s.parts_sent, s.platform_message_id, s.expires_at, s.recipient, s.channel_id,
      c.waba_id, c.phone_number_id, c.page_id, c.token_sealed, c.external_ref as channel_ref
  ),
  left_over as (
    update sends s
    set enqueued_at = null, slot_at = w.slot_at
    from ${SEND_REFS}
    where s.client_id = w.client_id
    and s.id = w.id
    and s.state = 'waiting'
    and s.id not in (select id from claimed union all select id from told)
  )
  select
    c.client_id, c.id, c.attempts, c.last_error, c.parts_sent, c.platform_message_id, c.expires_at, c.recipient, c.channel_id,
    c.waba_id, c.phone_number_id, c.page_id, c.token_sealed, m.platform, m.type, m.content, m.options,
    coalesce(m.external_ref, c.channel_ref) as external_ref
  from claimed c
  join messages m on m.client_id = c.client_id and m.id = c.id
  where c.id like 'msg%'`);

export interface SendLease {
  token: string;
  worker: string;
}

/** Takes those that may go out now. Asked again with the same token it answers the same. */
export const claimSends = (
  db: Queryable,
  refs: readonly SendRef[],
  { token, worker }: SendLease,
): Promise<ClaimedSend[]> =>
  db.query<ClaimedSend>(CLAIM, [...columnsOf(refs), token, worker, SEND_CLAIM_AHEAD_MS]);

/** That its request is about to be written; of the part before it, that it was taken, and by what it is known. */
export interface SendMark {
  client_id: string;
  id: string;
  lease: string;
  parts_sent: number;
  platform_message_id: string | null;
}

const MARK_SENDING = sql(`
  with input as materialized (
    select i.client_id, i.id, i.lease, i.parts_sent, i.platform_message_id
    from json_to_recordset($1) as i (
      client_id uuid,
      id text,
      lease uuid,
      parts_sent integer,
      platform_message_id text
    )
  )
  update sends s
  set
    sending_at = now(),
    started_at = coalesce(s.started_at, now()),
    parts_sent = i.parts_sent,
    platform_message_id = i.platform_message_id
  from input i
  where s.client_id = i.client_id
  and s.id = i.id
  and s.lease = i.lease
  and s.state = 'in_hand'
  returning s.id`);

/** From here on nobody else may send these; answers those of whom that is true. */
export async function markSending(db: Queryable, marks: readonly SendMark[]): Promise<string[]> {
  const rows = await db.query<{ id: string }>(MARK_SENDING, [JSON.stringify(sortById(marks))]);
  return rows.map(({ id }) => id);
}
