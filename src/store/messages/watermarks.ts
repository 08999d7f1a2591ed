import { SEND_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { DAY } from "../../runtime/durations.ts";
import { firstIdAt } from "../../runtime/ids.ts";
import { type Queryable, sql } from "../database/database.ts";
import { canMove, UNSETTLED_STATUSES } from "./lifecycle.ts";

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
const FIND = sql(`
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
  return db.query<ReachedMessage>(FIND, [
    JSON.stringify(rows),
    firstIdAt("msg", earliest - MAX_MESSAGE_AGE_MS),
    MAX_WATERMARK_ROWS,
  ]);
}
