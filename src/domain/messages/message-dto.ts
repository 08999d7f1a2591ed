import { timeOfId } from "../../runtime/ids.ts";
import type { MessageStatus, Platform, RecipientKind } from "../../schema/enumerations.ts";
import type { MessageDto, MessageErrorDto, QueuedMessageDto } from "../../schema/messages.ts";
import { toTimestamp } from "../../schema/timestamps.ts";
import type { MessageRow } from "../../store/messages/messages.ts";

type AcceptedRow = Pick<
  MessageRow,
  "id" | "channel_id" | "platform" | "recipient" | "recipient_kind" | "external_ref"
>;

const createdAt = (id: string): string => new Date(timeOfId(id)).toISOString();

/** The response to an accepted message. */
export const toQueuedMessage = (row: AcceptedRow): QueuedMessageDto => ({
  message_id: row.id,
  status: "queued",
  channel_id: row.channel_id,
  platform: row.platform as Platform,
  to: row.recipient,
  to_type: row.recipient_kind as RecipientKind,
  external_ref: row.external_ref,
  created_at: createdAt(row.id),
});

export const toMessage = (row: MessageRow): MessageDto => ({
  ...toQueuedMessage(row),
  status: row.status as MessageStatus,
  platform_message_id: row.platform_message_id,
  statuses: statusesOf(row),
  error: row.error === null ? null : toMessageError(JSON.parse(row.error)),
  attempts: row.attempts,
});

/** The stored statuses, after `queued` and `sending`, which follow from the message and its send. */
function statusesOf({ id, started_at, timeline }: MessageRow): MessageDto["statuses"] {
  const isWritten = timeline.some(({ status }) => status === "sending");
  return inOrder([
    { status: "queued", at: createdAt(id) },
    ...(started_at && !isWritten ? [{ status: "sending" as const, at: toTimestamp(started_at) }] : []),
    ...timeline.map(({ status, at }) => ({ status: status as MessageStatus, at: toTimestamp(new Date(at)) })),
  ]);
}

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
