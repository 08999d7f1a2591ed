import { SEND_TTL_MS } from "../../runtime/deadlines.ts";
import { textArray } from "../database/binary-arrays.ts";
import { type Queryable, sql } from "../database/database.ts";
import { firstTimeline } from "../messages/lifecycle.ts";
import { selectAliveClients } from "../tenants/clients.ts";
import { IDEMPOTENCY_KEY_TTL_MS } from "../tenants/idempotency-keys.ts";

/** Unfinished batches of a client; its further ones are refused. */
export const MAX_UNFINISHED_BATCHES = 100;

/** A message of a batch to accept. */
export interface NewBatchMessage {
  id: string;
  recipient: string;
  recipient_kind: string;
  /** JSON of the fields that replace those of the batch's content; null without any. */
  content: string | null;
  external_ref: string | null;
}

/** A batch to accept, with its idempotency key. */
export interface NewBatch {
  client_id: string;
  id: string;
  channel_id: string;
  name: string | null;
  type: string;
  content: string;
  options: string | null;
  template_name: string | null;
  template_language: string | null;
  status: "running" | "scheduled";
  rate_per_second: number | null;
  send_at: Date | null;
  request_id: string;
  key_id: string;
  fingerprint: string;
  reply_sealed: string;
  messages: readonly NewBatchMessage[];
}

/** A statement of its own, so that the next one counts the batches that were accepted before. */
const LOCK_BATCHES = sql("select pg_advisory_xact_lock(hashtext('herald:batches ' || $1::text))");

const HAS_ROOM = `(
      select count(*)
      from (
        select
        from batches
        where client_id = $1
        and finished_at is null
        limit ${MAX_UNFINISHED_BATCHES}
      ) unfinished
    ) < ${MAX_UNFINISHED_BATCHES}`;

/**
 * Inserts everything or nothing: nothing for a deleted client, a channel that is not connected, too many unfinished batches, or
 * a key that is in use. The messages have no expiry of their own, and wait for earlier ones of the batch only.
 */
const ACCEPT = sql(`
  with ${selectAliveClients("select $1::uuid")},
  sendable as materialized (
    select c.platform
    from alive a
    join channels c on c.client_id = a.id and c.id = $3
    where c.status = 'connected'
    and ${HAS_ROOM}
  ),
  fresh as (
    insert into idempotency_keys as k (id, client_id, fingerprint, reply_sealed)
    select $14, $1, $15, $16
    from sendable
    on conflict (client_id, id) do update
    set fingerprint = excluded.fingerprint, reply_sealed = excluded.reply_sealed, created_at = now()
    where k.created_at < now() - $17 * interval '1 millisecond'
    returning id
  ),
  batch as (
    insert into batches (
      client_id, id, channel_id, platform, name, type, content, template_name, template_language, status, rate_per_second,
      send_at, first_message_id, last_message_id, expires_at
    )
    select
      $1, $2, $3, s.platform, $4, $5, $6, $8, $9, $10, $11, $12, ids.first, ids.last,
      greatest($12, now()) + $23 * interval '1 millisecond'
    from sendable s
    cross join fresh
    cross join (
      -- Not the first and last of the list: ids descend when the clock is set back while they are made.
      select min(id collate "C") as first, max(id collate "C") as last
      from unnest($18::text[]) as i (id)
    ) ids
    returning platform, status
  ),
  input as materialized (
    select i.*, b.platform, b.status
    from batch b
    cross join unnest($18::text[], $19::text[], $20::text[], $21::text[], $22::text[])
      as i (id, recipient, recipient_kind, content, external_ref)
  ),
  recorded as (
    insert into messages (
      client_id, id, channel_id, batch_id, platform, recipient, recipient_kind, type, content, options, external_ref, request_id,
      send_at, status, timeline
    )
    select
      $1, id, $3, $2, platform, recipient, recipient_kind, $5, content, $7, external_ref, $13, $12,
      case when status = 'scheduled' then 'scheduled' else 'queued' end, ${firstTimeline("status")}
    from input
  ),
  to_send as (
    insert into sends (client_id, id, channel_id, batch_id, recipient, state, next_attempt_at, expires_at)
    select
      $1, id, $3, $2, recipient,
      case
        when status = 'scheduled' then 'scheduled'
        when row_number() over (partition by recipient order by id) > 1 then 'behind'
        else 'waiting'
      end,
      case when status = 'scheduled' then $12 else now() end,
      'infinity'
    from input
    order by id
  )
  select exists (select from batch) as "isAccepted"`);

/** Accepts the batch with all of its messages, or nothing of it; must run in a transaction. */
export async function acceptBatch(tx: Queryable, batch: NewBatch): Promise<boolean> {
  const { messages } = batch;
  const column = <Name extends keyof NewBatchMessage>(name: Name) =>
    textArray(messages.map((message) => message[name]));
  await tx.query(LOCK_BATCHES, [batch.client_id]);
  const [row] = await tx.query<{ isAccepted: boolean }>(ACCEPT, [
    batch.client_id,
    batch.id,
    batch.channel_id,
    batch.name,
    batch.type,
    batch.content,
    batch.options,
    batch.template_name,
    batch.template_language,
    batch.status,
    batch.rate_per_second,
    batch.send_at,
    batch.request_id,
    batch.key_id,
    batch.fingerprint,
    batch.reply_sealed,
    IDEMPOTENCY_KEY_TTL_MS,
    column("id"),
    column("recipient"),
    column("recipient_kind"),
    column("content"),
    column("external_ref"),
    SEND_TTL_MS,
  ]);
  return row?.isAccepted ?? false;
}

/** Why a batch was not accepted; nothing of it holds when it can be tried again. */
export interface BatchRejection {
  /** From the stored request, when the key is already used. */
  fingerprint: string | null;
  reply_sealed: string | null;
  /** Null when the client has no such channel. */
  channel_status: string | null;
  has_room: boolean;
}

/** A separate statement: ACCEPT does not see a key that a concurrent statement has inserted. */
const FIND_REJECTION = sql(`
  select k.fingerprint, k.reply_sealed, c.status as channel_status, ${HAS_ROOM} as has_room
  from (values (true)) as one
  left join idempotency_keys k
    on k.client_id = $1
    and k.id = $3
    and k.created_at >= now() - $4 * interval '1 millisecond'
  left join channels c on c.client_id = $1 and c.id = $2`);

export async function findBatchRejection(db: Queryable, batch: NewBatch): Promise<BatchRejection> {
  const values = [batch.client_id, batch.channel_id, batch.key_id, IDEMPOTENCY_KEY_TTL_MS];
  const [row] = await db.query<BatchRejection>(FIND_REJECTION, values);
  return row as BatchRejection;
}
