import { MAX_BLOCKING_RETRY_MS, SEND_TTL_MS } from "../../runtime/deadlines.ts";
import { textArray, uuidArray } from "../database/binary-arrays.ts";
import { type Queryable, sql } from "../database/database.ts";
import { selectAliveClients } from "../tenants/clients.ts";
import { IDEMPOTENCY_KEY_TTL_MS } from "../tenants/idempotency-keys.ts";
import { firstTimeline } from "./lifecycle.ts";
import { isBlockingLaterSends } from "./send-order.ts";

/** A message to accept, with its idempotency key if the request has one. */
export interface NewMessage {
  client_id: string;
  /** Ascends in the order in which one process accepts messages; sends to one person keep that order. */
  id: string;
  channel_id: string;
  recipient: string;
  recipient_kind: string;
  type: string;
  content: string;
  options: string | null;
  external_ref: string | null;
  /** When the message is to be sent; null when that is as soon as possible. */
  send_at: Date | null;
  status: "queued" | "scheduled";
  /** The request that the message was accepted with. */
  request_id: string;
  key_id: string | null;
  fingerprint: string | null;
  reply_sealed: string | null;
}

/**
 * Spans all clients: inserts messages and sends whose channel is connected and whose key is new or expired.
 * Skips deleted clients. Keys are inserted in order: otherwise two statements could deadlock. The last send to the same
 * person is locked: the transaction that finishes it waits for this one, or this one waits and no longer finds it. Earlier
 * ones may still block then.
 */
const ACCEPT = sql(`
  with input as (
    select *
    from unnest(
      $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
      $10::text[], $11::uuid[], $12::uuid[], $13::text[], $17::timestamptz[], $18::text[]
    ) as i (
      client_id,
      id,
      channel_id,
      recipient,
      recipient_kind,
      type,
      content,
      options,
      external_ref,
      request_id,
      key_id,
      fingerprint,
      reply_sealed,
      send_at,
      status
    )
  ),
  ${selectAliveClients("select client_id from input")},
  sendable as materialized (
    select i.*, c.platform
    from input i
    join alive a on a.id = i.client_id
    join channels c on c.client_id = i.client_id and c.id = i.channel_id
    where c.status = 'connected'
  ),
  fresh as (
    insert into idempotency_keys as k (id, client_id, fingerprint, reply_sealed)
    select key_id, client_id, fingerprint, reply_sealed
    from sendable
    where key_id is not null
    order by key_id
    on conflict (client_id, id) do update
    set fingerprint = excluded.fingerprint, reply_sealed = excluded.reply_sealed, created_at = now()
    where k.created_at < now() - $14 * interval '1 millisecond'
    returning id
  ),
  accepted as materialized (
    select *
    from sendable
    where key_id is null
    or key_id in (select id from fresh) -- hashed; the planner would join with a nested loop
  ),
  recorded as (
    insert into messages (
      client_id, id, channel_id, platform, recipient, recipient_kind, type, content, options, external_ref, request_id,
      send_at, status, timeline
    )
    select
      client_id, id, channel_id, platform, recipient, recipient_kind, type, content, options, external_ref, request_id,
      send_at, status, ${firstTimeline("status")}
    from accepted
  ),
  last_sends as materialized (
    select a.channel_id, a.recipient, last.client_id, last.id
    from (select distinct channel_id, recipient from accepted where status = 'queued') a
    cross join lateral (
      select earlier.client_id, earlier.id
      from sends earlier
      where earlier.channel_id = a.channel_id
      and earlier.batch_id = ''
      and earlier.recipient = a.recipient
      and ${isBlockingLaterSends("earlier", "$16")}
      order by earlier.place desc
      limit 1
    ) last
  ),
  locked as materialized (
    select s.id
    from (select client_id, id from last_sends order by id) l
    cross join lateral (
      select id
      from sends
      where client_id = l.client_id
      and id = l.id
      and ${isBlockingLaterSends("sends", "$16")}
      limit 1
      for key share
    ) s
  ),
  blocked as materialized (
    select channel_id, recipient
    from last_sends l
    where l.id in (select id from locked)
    or (
      select true
      from sends earlier
      where earlier.channel_id = l.channel_id
      and earlier.batch_id = ''
      and earlier.recipient = l.recipient
      and earlier.id <> l.id
      and ${isBlockingLaterSends("earlier", "$16")}
      order by earlier.place desc
      limit 1
    )
  ),
  placed as (
    select
      a.*,
      row_number() over (partition by a.channel_id, a.recipient, a.status order by a.id) > 1
      or (a.channel_id, a.recipient) in (select channel_id, recipient from blocked) as is_behind
    from accepted a
  ),
  to_send as (
    insert into sends (client_id, id, channel_id, recipient, state, next_attempt_at, expires_at)
    select
      client_id,
      id,
      channel_id,
      recipient,
      case when status = 'scheduled' then 'scheduled' when is_behind then 'behind' else 'waiting' end,
      case when status = 'scheduled' then send_at else now() end,
      case when status = 'scheduled' then send_at else now() end + $15 * interval '1 millisecond'
    from placed
    order by id
    returning id, state
  )
  select id, state = 'waiting' as "isDue"
  from to_send`);

/** Returns the accepted ids; true when due, false when scheduled or behind another message. Keys must be unique in the list. */
export async function acceptMessages(
  db: Queryable,
  messages: readonly NewMessage[],
): Promise<Map<string, boolean>> {
  const column = <Name extends keyof NewMessage>(name: Name) => messages.map((message) => message[name]);
  const values = [
    uuidArray(column("client_id")),
    textArray(column("id")),
    textArray(column("channel_id")),
    textArray(column("recipient")),
    textArray(column("recipient_kind")),
    textArray(column("type")),
    textArray(column("content")),
    textArray(column("options")),
    textArray(column("external_ref")),
    textArray(column("request_id")),
    uuidArray(column("key_id")),
    uuidArray(column("fingerprint")),
    textArray(column("reply_sealed")),
    IDEMPOTENCY_KEY_TTL_MS,
    SEND_TTL_MS,
    MAX_BLOCKING_RETRY_MS,
    column("send_at"),
    textArray(column("status")),
  ];
  const rows = await db.query<{ id: string; isDue: boolean }>(ACCEPT, values);
  return new Map(rows.map(({ id, isDue }) => [id, isDue]));
}

/** Why a message was not accepted. */
export interface MessageRejection {
  id: string;
  /** From the stored request, when the key is already used. */
  fingerprint: string | null;
  reply_sealed: string | null;
  /** Null when the client has no such channel. */
  channel_status: string | null;
}

/** A separate statement: ACCEPT does not see a key that a concurrent statement has inserted. */
const FIND_REJECTIONS = sql(`
  select i.id, k.fingerprint, k.reply_sealed, c.status as channel_status
  from json_to_recordset($1) as i (client_id uuid, id text, channel_id text, key_id uuid)
  left join idempotency_keys k
    on k.client_id = i.client_id
    and k.id = i.key_id
    and k.created_at >= now() - $2 * interval '1 millisecond'
  left join channels c on c.client_id = i.client_id and c.id = i.channel_id`);

/** Spans all clients: finds out why messages were not accepted. */
export const findRejections = (
  db: Queryable,
  messages: readonly NewMessage[],
): Promise<MessageRejection[]> => {
  const refs = messages.map(({ client_id, id, channel_id, key_id }) => ({
    client_id,
    id,
    channel_id,
    key_id,
  }));
  return db.query<MessageRejection>(FIND_REJECTIONS, [JSON.stringify(refs), IDEMPOTENCY_KEY_TTL_MS]);
};
