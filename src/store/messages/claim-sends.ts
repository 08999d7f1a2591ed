import { SEND_CLAIM_AHEAD_MS } from "../../runtime/deadlines.ts";
import { COMMIT_IN_MEMORY } from "../database/commit-in-memory.ts";
import { type Queryable, sql } from "../database/database.ts";
import { sortById } from "../events/delivery-refs.ts";
import { IS_NOT_SUSPECT } from "../processes/deaths.ts";
import { IS_HELD, IS_NOT_HELD } from "../processes/queue-hold.ts";
import { UNSETTLED_STATUSES } from "./lifecycle.ts";

/** Everything here spans all clients: the queue of outbound messages. */

/**
 * A send. `slotAt` is set when it waited for its channel's rate limit: the time of its slot, in milliseconds
 * since 1970.
 */
export interface SendRef {
  clientId: string;
  id: string;
  channelId: string;
  slotAt?: number | undefined;
}

/** Client ids, send ids and slot times as arrays, sorted by send id. */
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

/** Marks due sends as not enqueued; a send with a slot time is due at that time. */
export async function unmarkQueuedSends(db: Queryable, refs: readonly SendRef[]): Promise<void> {
  await db.query(UNMARK_QUEUED, columnsOf(refs));
}

/** A claimed send, its message and its channel. */
export interface ClaimedSend {
  client_id: string;
  id: string;
  attempts: number;
  /** Why the send is retried, as JSON; null on the first attempt. */
  last_error: string | null;
  parts_sent: number;
  /** The platform's id of the part that was sent before. */
  platform_message_id: string | null;
  expires_at: Date;
  recipient: string;
  platform: string;
  type: string;
  content: string;
  options: string | null;
  external_ref: string | null;
  channel_external_ref: string | null;
  channel_id: string;
  waba_id: string | null;
  phone_number_id: string | null;
  page_id: string | null;
  token_sealed: string;
}

/**
 * The commit need not reach the disk: a send whose claim is lost is not marked, and MARK_SENDING saves the claim too.
 * A send whose channel is not connected or that has expired is marked as not enqueued. A send whose message a
 * status webhook has settled is deleted; `unknown` is not settled: its dispatcher reported a failure since.
 * A suspect is claimed only while the sweep has enqueued it, which it does with one suspect at a time.
 * Sends of deleted clients have no channel. While the queue is held, all sends are marked as not enqueued.
 */
const CLAIM = sql(`
  with wanted as materialized (
    select w.client_id, w.id, m.status, m.platform, m.type, m.content, m.options, m.external_ref
    from ${SEND_REFS}
    join messages m on m.client_id = w.client_id and m.id = w.id
    where w.id like 'msg%'
    and ${COMMIT_IN_MEMORY}
  ),
  settled as (
    delete from sends s
    using wanted w
    where w.status not in ${UNSETTLED_STATUSES}
    and s.client_id = w.client_id
    and s.id = w.id
    and s.state = 'waiting'
    returning s.id
  ),
  claimed as (
    update sends s
    set state = 'in_hand', worker_id = $5, lease = $4, claimed_at = now()
    from wanted w, channels c
    where ${IS_NOT_HELD}
    and s.client_id = w.client_id
    and s.id = w.id
    and c.id = s.channel_id
    and c.status = 'connected'
    and c.token_sealed is not null
    and (
      s.state = 'waiting'
      and w.status in ${UNSETTLED_STATUSES}
      and s.next_attempt_at <= now() + $6 * interval '1 millisecond'
      and s.expires_at > now()
      and (s.${IS_NOT_SUSPECT} or s.enqueued_at is not null)
      or s.state = 'in_hand' and s.lease = $4
    )
    returning
      s.client_id, s.id, s.attempts, s.last_error, s.parts_sent, s.platform_message_id, s.expires_at, s.recipient, s.channel_id,
      c.waba_id, c.phone_number_id, c.page_id, c.token_sealed, w.platform, w.type, w.content, w.options,
      w.external_ref, c.external_ref as channel_external_ref
  ),
  left_over as (
    update sends s
    set enqueued_at = null, slot_at = w.slot_at
    from ${SEND_REFS}
    where w.id like 'msg%'
    and s.client_id = w.client_id
    and s.id = w.id
    and s.state = 'waiting'
    and s.id not in (select id from claimed union all select id from settled)
  )
  select *
  from claimed`);

export interface SendLease {
  token: string;
  worker: string;
}

/** Claims sends that may go out now. Idempotent: the same token returns the same sends again. */
export const claimSends = (
  db: Queryable,
  refs: readonly SendRef[],
  { token, worker }: SendLease,
): Promise<ClaimedSend[]> =>
  db.query<ClaimedSend>(CLAIM, [...columnsOf(refs), token, worker, SEND_CLAIM_AHEAD_MS]);

/** Written before a request is sent: the parts accepted so far and the platform's id of them. */
export interface SendMark {
  client_id: string;
  id: string;
  lease: string;
  parts_sent: number;
  platform_message_id: string | null;
}

/**
 * A send with a lease is `in_hand` or `unknown`. Unless the condition names `in_hand`, the planner looks each
 * send up by its key; otherwise it would search all claimed sends.
 */
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
  ),
  marked as (
    update sends s
    set
      sending_at = now(),
      started_at = coalesce(s.started_at, now()),
      parts_sent = i.parts_sent,
      platform_message_id = i.platform_message_id
    from input i
    where ${IS_NOT_HELD}
    and s.client_id = i.client_id
    and s.id = i.id
    and s.lease = i.lease
    and s.state <> 'unknown'
    returning s.id
  )
  select coalesce(array_agg(id), '{}') as "markedIds", ${IS_HELD} as "isHeld"
  from marked`);

interface MarkResult {
  /** Ids of the sends whose lease is still valid: no other dispatcher may send them from now on. */
  markedIds: string[];
  /** True while the queue is held: then no send is marked, and one that was claimed before does not start. */
  isHeld: boolean;
}

export async function markSending(db: Queryable, marks: readonly SendMark[]): Promise<MarkResult> {
  const [row] = await db.query<MarkResult>(MARK_SENDING, [JSON.stringify(sortById(marks))]);
  return row as MarkResult;
}
