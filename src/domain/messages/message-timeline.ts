import { timeOfId } from "../../runtime/ids.ts";
import type { EventType } from "../../schema/enumerations.ts";
import { MAX_TIMELINE_ENTRIES, type TimelineEntryDto } from "../../schema/history/message-timeline.ts";
import type { MessageDto } from "../../schema/messages.ts";
import { toTimestamp } from "../../schema/timestamps.ts";
import type { Queryable } from "../../store/database/database.ts";
import {
  type EventAttemptRow,
  findMessageHistory,
  listEventAttempts,
  listMessageEvents,
  type MessageEventRef,
  type MessageHistoryRow,
} from "../../store/messages/message-timeline.ts";
import { toMessage, toMessageError } from "./message-dto.ts";

interface MessageTimeline {
  message: MessageDto;
  /** Oldest first. */
  timeline: TimelineEntryDto[];
}

/**
 * Reads what happened to a message. Undefined when the client has no such message. The number of entries is
 * bounded: a message has few of its own, but its events can be replayed without limit.
 */
export async function readTimeline(
  db: Queryable,
  clientId: string,
  messageId: string,
): Promise<MessageTimeline | undefined> {
  const row = await findMessageHistory(db, clientId, messageId);
  if (!row) return undefined;
  const message = toMessage(row);
  const own = [toAccepted(row, message), ...toStatuses(message), ...toPlatformAttempts(row)];
  const limit = MAX_TIMELINE_ENTRIES - own.length;
  const events = await listMessageEvents(db, clientId, { messageId, limit });
  const eventIds = events.map(({ id }) => id);
  const attempts = await listEventAttempts(db, clientId, { eventIds, limit: limit - events.length });
  const entries = [...own, ...events.map(toEventEntry), ...attempts.map(toDeliveryAttempt)];
  return { message, timeline: entries.sort((one, other) => Date.parse(one.at) - Date.parse(other.at)) };
}

const toAccepted = (row: MessageHistoryRow, { created_at }: MessageDto): TimelineEntryDto => ({
  at: created_at,
  type: "accepted",
  request_id: row.request_id,
});

const toStatuses = ({ statuses }: MessageDto): TimelineEntryDto[] =>
  statuses.map(({ status, at }) => ({ at, type: "status", status }));

const toPlatformAttempts = ({ platform_attempts }: MessageHistoryRow): TimelineEntryDto[] =>
  platform_attempts.map(({ at, attempt, outcome, status_code, duration_ms, error }) => ({
    at: toTimestamp(new Date(at)),
    type: "platform_attempt",
    attempt,
    outcome,
    status_code: status_code ?? null,
    duration_ms: duration_ms ?? null,
    error: error ? toMessageError(JSON.parse(error)) : null,
  }));

/** The time at which the event was recorded; it may have occurred earlier at the platform. */
const toEventEntry = ({ id, type }: MessageEventRef): TimelineEntryDto => ({
  at: toTimestamp(new Date(timeOfId(id))),
  type: "event",
  event_id: id,
  event_type: type as EventType,
});

const toDeliveryAttempt = ({ at, ...attempt }: EventAttemptRow): TimelineEntryDto => ({
  at: toTimestamp(at),
  type: "delivery_attempt",
  ...attempt,
});
