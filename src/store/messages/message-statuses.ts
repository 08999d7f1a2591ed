import { RECENT_ROW_MS, SEND_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { DAY } from "../../runtime/durations.ts";
import { firstIdAt } from "../../runtime/ids.ts";
import { type Queryable, sql } from "../database/database.ts";
import { canMove, FINISHED_AT, UNSETTLED_STATUSES } from "./lifecycle.ts";
import { type ChannelRecipient, releaseNextSends } from "./send-order.ts";

/** Applies statuses that the platforms report; they only move messages forward. */

/** SQL: like smallSetHint of deliveries, but true for every message id. */
const smallSetHint = (id: string): string => `${id} like 'msg%'`;

/** Statuses that one webhook reports for a message, each with its ISO 8601 time. */
export interface MessageStatusUpdate {
  client_id: string;
  /** Our id; null while only the platform's id is known. */
  id: string | null;
  platform_message_id: string | null;
  sent?: string;
  delivered?: string;
  read?: string;
  failed?: string;
  /** Error of a failed message, as JSON, and its code. */
  error?: string | null;
  error_code?: string | null;
}

/**
 * Skips messages with another platform id unless $4. Locks sends, then messages, by id, like the dispatchers; claimed
 * sends stay, and scheduled ones, which no status settles. A failure undoes no arrival; a failed message moves only when
 * its outcome was unknown.
 * Settled messages accepted before $5 that fail or no longer fail are added to late_changes.
 */
const APPLY = sql(`
  with input as materialized (
    select *
    from json_to_recordset($1) as i (
      place integer,
      client_id uuid,
      id text,
      platform_message_id text,
      sent text,
      delivered text,
      read text,
      failed text,
      error text,
      error_code text
    )
  ),
  unsent as materialized (
    select s.row, s.id, s.state, s.channel_id, s.batch_id, s.recipient
    from (select client_id, id from input order by id) i
    cross join lateral (
      select ctid as row, id, state, channel_id, batch_id, recipient
      from sends
      where client_id = i.client_id
      and id = i.id
      and state <> 'claimed'
      limit 1
      for update
    ) s
  ),
  held as materialized (
    select
      i.*,
      m.external_ref,
      m.timeline,
      m.status as stored_status,
      case when m.outcome_unknown then 'unknown' else m.status end as former
    from input i
    join messages m on m.client_id = i.client_id and m.id = i.id
    where ${smallSetHint("i.id")}
    and ($4 or m.platform_message_id is null or i.platform_message_id in (m.platform_message_id, m.caption_message_id))
    and m.id between $2 and $3
    and (select count(*) from unsent) >= 0
    order by m.id
    for update of m
  ),
  settled as (
    delete from sends s
    where s.ctid = any(array(
      select u.row
      from unsent u
      join held h on h.id = u.id
      where coalesce(h.sent, h.delivered, h.read, h.failed) is not null
      and u.state <> 'scheduled'
    ))
    returning s.id, s.channel_id, s.batch_id, s.recipient
  ),
  judged as materialized (
    select
      h.*,
      case
        when h.read is not null and ${canMove("h.former", "'read'")} then 'read'
        when h.delivered is not null and ${canMove("h.former", "'delivered'")} then 'delivered'
        when h.failed is not null and ${canMove("h.former", "'failed'")} then 'failed'
        when h.sent is not null and ${canMove("h.former", "'sent'")} then 'sent'
      end as status
    from held h
  ),
  moved as (
    update messages m
    set
      status = j.status,
      timeline = j.timeline || (
        select coalesce(jsonb_agg(jsonb_build_object('status', w.status, 'at', w.at) order by w.place), '[]')
        from (
          values (1, 'sent', j.sent), (2, 'delivered', j.delivered), (3, 'read', j.read), (4, 'failed', j.failed)
        ) as w (place, status, at)
        where w.at is not null
        and (w.status = j.status or w.status <> 'failed' and ${canMove("j.former", "w.status")})
        and not j.timeline @> jsonb_build_array(jsonb_build_object('status', w.status))
      ),
      platform_message_id = coalesce(m.platform_message_id, j.platform_message_id),
      error = case when j.status = 'failed' then j.error end,
      error_code = case when j.status = 'failed' then j.error_code end,
      outcome_unknown = false,
      failed_at = case when j.status = 'failed' then now() end,
      finished_at = ${FINISHED_AT}
    from judged j
    where ${smallSetHint("j.id")}
    and j.status is not null
    and m.client_id = j.client_id
    and m.id = j.id
    and m.id between $2 and $3
  ),
  late as (
    insert into late_changes (client_id, id)
    select client_id, id
    from judged
    where id < $5
    and status is not null
    and stored_status not in ${UNSETTLED_STATUSES}
    and 'failed' in (stored_status, status)
  )
  select j.place, j.id, j.external_ref, j.status is not null as moved, s.channel_id, s.batch_id, s.recipient
  from judged j
  left join settled s on s.id = j.id`);

/** A message of ours that an update is about. */
export interface TouchedMessage {
  id: string;
  external_ref: string | null;
  /** True when the update moved it forward. */
  moved: boolean;
}

/** JSON for a statement, each update with its index as `place`. */
const toNumberedJson = (updates: readonly MessageStatusUpdate[]): string =>
  JSON.stringify(updates.map((update, place) => ({ place, ...update })));

/** The first and the last id, so that Postgres skips the other partitions. */
function boundsOf(updates: readonly MessageStatusUpdate[]): [string, string] {
  const ids = updates.flatMap(({ id }) => id ?? []).sort();
  return [ids[0] ?? "", ids.at(-1) ?? ""];
}

interface StatusOptions {
  /** Applies an update also when the message is stored with another platform id. */
  anyPlatformId?: boolean;
}

/** The statistics of younger messages are computed again anyway, so most updates write nothing for them. */
const lateBefore = () => firstIdAt("msg", Date.now() - RECENT_ROW_MS);

/**
 * Spans all clients: applies updates by our message id; returns those whose message is the client's. Messages that waited for
 * a send which a status has settled are released.
 */
export async function updateMessageStatuses(
  db: Queryable,
  updates: readonly MessageStatusUpdate[],
  { anyPlatformId = false }: StatusOptions = {},
): Promise<Map<MessageStatusUpdate, TouchedMessage>> {
  if (updates.length === 0) return new Map();
  type Row = TouchedMessage & { place: number } & (ChannelRecipient | { channel_id: null });
  const values = [toNumberedJson(updates), ...boundsOf(updates), anyPlatformId, lateBefore()];
  const rows = await db.query<Row>(APPLY, values);
  await releaseNextSends(
    db,
    rows.flatMap((row) => (row.channel_id === null ? [] : row)),
  );
  return new Map(
    rows.map(({ place, id, external_ref, moved }) => [
      updates[place] as MessageStatusUpdate,
      { id, external_ref, moved },
    ]),
  );
}

const idBy = (column: string) => `
      (
        select m.id
        from messages m
        where m.client_id = i.client_id
        and m.${column} = i.platform_message_id
        limit 1
      )`;

const FIND = sql(`
  select
    i.place,
    coalesce(${idBy("platform_message_id")},${idBy("caption_message_id")}
    ) as id
  from json_to_recordset($1) as i (place integer, client_id uuid, platform_message_id text)`);

/**
 * Spans all clients: finds messages by the platform's id of the message or its caption. Returns a copy with our
 * id for each update that has one.
 */
export async function resolveMessageIds(
  db: Queryable,
  updates: readonly MessageStatusUpdate[],
): Promise<Map<MessageStatusUpdate, MessageStatusUpdate>> {
  if (updates.length === 0) return new Map();
  const rows = await db.query<{ place: number; id: string | null }>(FIND, [toNumberedJson(updates)]);
  return new Map(
    rows.flatMap(({ place, id }) => {
      const update = updates[place] as MessageStatusUpdate;
      return id === null ? [] : [[update, { ...update, id }]];
    }),
  );
}

/** A report that all messages to a person up to a time are delivered or read. */
export interface ChannelWatermark {
  clientId: string;
  channelId: string;
  recipient: string;
  word: "delivered" | "read";
  until: Date;
}

/** A message that a watermark covers and that has not reached its status yet. */
export interface ReachedMessage {
  /** Index of the watermark in the list. */
  place: number;
  id: string;
  platform_message_id: string | null;
}

/** Older messages are ignored. */
const MAX_MESSAGE_AGE_MS = 30 * DAY;

/** Per watermark; the next watermark covers the rest. */
const MAX_WATERMARK_ROWS = 500;

/**
 * Skips messages accepted here after the watermark, and those that waited here and were sent long after it.
 * In between the platform's clock decides, which may differ from ours.
 */
const FIND_AT_WATERMARK = sql(`
  select w.place, m.id, m.platform_message_id
  from json_to_recordset($1) as w (
    place integer,
    client_id uuid,
    channel_id text,
    recipient text,
    word text,
    left_by timestamptz,
    end_id text
  )
  cross join lateral (
    select id, platform_message_id
    from messages
    where client_id = w.client_id
    and recipient = w.recipient
    and id >= $2
    and id < w.end_id
    and channel_id = w.channel_id
    and status not in ${UNSETTLED_STATUSES}
    and ${canMove("status", "w.word")}
    and not exists (
      select
      from jsonb_to_recordset(timeline) as s (status text, at timestamptz)
      where s.status in ('accepted', 'sent')
      and s.at > w.left_by
    )
    order by id desc
    limit $3
  ) m`);

/** Spans all clients: finds the messages that the watermarks cover. */
export async function findReachedMessages(
  db: Queryable,
  watermarks: readonly ChannelWatermark[],
): Promise<ReachedMessage[]> {
  if (watermarks.length === 0) return [];
  const rows = watermarks.map(({ clientId, channelId, recipient, word, until }, place) => ({
    place,
    client_id: clientId,
    channel_id: channelId,
    recipient,
    word,
    // A request may take this long, so the platform may have received the message that much earlier.
    left_by: new Date(until.getTime() + SEND_DEADLINE_MS),
    end_id: firstIdAt("msg", until.getTime() + 1),
  }));
  const earliest = Math.min(...watermarks.map(({ until }) => until.getTime()));
  return db.query<ReachedMessage>(FIND_AT_WATERMARK, [
    JSON.stringify(rows),
    firstIdAt("msg", earliest - MAX_MESSAGE_AGE_MS),
    MAX_WATERMARK_ROWS,
  ]);
}
