import { timeOfId } from "../../runtime/ids.ts";
import type { EventType, MessageStatus, Platform, RecipientKind } from "../../schema/enumerations.ts";
import type { MessageDto, MessageErrorDto, QueuedMessageDto } from "../../schema/messages.ts";
import { MAX_TIMELINE_ENTRIES, type TimelineEntryDto } from "../../schema/messages.ts";
import { toTimestamp } from "../../schema/times.ts";
import type { Queryable } from "../../store/database/database.ts";
import type { MessageRow } from "../../store/messages/messages.ts";
import {
  type EventAttemptRow,
  findMessageHistory,
  listEventAttempts,
  listMessageEvents,
  type MessageEventRef,
  type MessageHistoryRow,
} from "../../store/messages/messages.ts";

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
  batch_id: row.batch_id,
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
  at: createdAt(id),
  type: "event",
  event_id: id,
  event_type: type as EventType,
});

const toDeliveryAttempt = ({ at, ...attempt }: EventAttemptRow): TimelineEntryDto => ({
  at: toTimestamp(at),
  type: "delivery_attempt",
  ...attempt,
});

type AcceptedRow = Pick<
  MessageRow,
  "id" | "status" | "channel_id" | "platform" | "recipient" | "recipient_kind" | "external_ref"
>;

/** When the row with this id was inserted. */
const createdAt = (id: string): string => new Date(timeOfId(id)).toISOString();

/** The response to an accepted message. */
export const toQueuedMessage = (row: AcceptedRow): QueuedMessageDto => ({
  message_id: row.id,
  status: row.status as MessageStatus,
  channel_id: row.channel_id,
  platform: row.platform as Platform,
  to: row.recipient,
  to_type: row.recipient_kind as RecipientKind,
  external_ref: row.external_ref,
  created_at: createdAt(row.id),
});

export const toMessage = (row: MessageRow): MessageDto => ({
  ...toQueuedMessage(row),
  batch_id: row.batch_id,
  send_at: row.send_at && toTimestamp(row.send_at),
  platform_message_id: row.platform_message_id,
  statuses: statusesOf(row),
  error: row.error === null ? null : toMessageError(JSON.parse(row.error)),
  attempts: row.attempts,
});

/**
 * The stored statuses, after `queued` and `sending`, which follow from the message and its send. A message that was scheduled
 * has `queued` among the stored ones.
 */
function statusesOf({ id, started_at, timeline }: MessageRow): MessageDto["statuses"] {
  const stored = timeline.map(({ status, at }) => ({
    status: status as MessageStatus,
    at: toTimestamp(new Date(at)),
  }));
  const wasScheduled = stored.some(({ status }) => status === "scheduled");
  const isWritten = stored.some(({ status }) => status === "sending");
  return inOrder([
    ...(wasScheduled ? stored.filter(isBeforeSending) : [{ status: "queued" as const, at: createdAt(id) }]),
    ...(started_at && !isWritten ? [{ status: "sending" as const, at: toTimestamp(started_at) }] : []),
    ...stored.filter((reached) => !isBeforeSending(reached)),
  ]);
}

const isBeforeSending = ({ status }: { status: MessageStatus }): boolean =>
  status === "scheduled" || status === "queued";

/** Platforms report whole seconds: without a correction, `sent` would precede the acceptance of its message. */
function inOrder(statuses: MessageDto["statuses"]): MessageDto["statuses"] {
  let earliest = "";
  return statuses.map(({ status, at }) => {
    earliest = at > earliest ? at : earliest;
    return { status, at: earliest };
  });
}

export const toMessageError = ({ code, title, message, details }: MessageErrorDto): MessageErrorDto => ({
  code,
  title: title ?? null,
  message: message ?? null,
  details: details ?? null,
});
