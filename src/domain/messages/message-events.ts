import type { Platform } from "../../schema/enumerations.ts";
import type { MessageEventRow } from "../../store/messages/settled-sends.ts";
import type { EventDraft } from "../events/record-events.ts";
import type { MessageError } from "./message-errors.ts";

const toDraft = (message: MessageEventRow, type: EventDraft["type"], data: object): EventDraft => ({
  clientId: message.client_id,
  type,
  key: message.platform as Platform,
  channelId: message.channel_id,
  externalRef: message.external_ref,
  channelExternalRef: message.channel_external_ref,
  messageId: message.id,
  data,
});

/** The outcome of handing a message to the platform. */
export const sendResult = (
  message: MessageEventRow,
  outcome: "accepted" | "rejected" | "unknown",
  error?: MessageError,
): EventDraft =>
  toDraft(message, "message.send_result", {
    message_id: message.id,
    outcome,
    ...(message.platform_message_id === null ? {} : { platform_message_id: message.platform_message_id }),
    ...(error ? { error } : {}),
  });

/** A status that Herald knows without a report from the platform. */
export const messageStatus = (
  message: MessageEventRow,
  status: "sent" | "failed",
  { at, error }: { at: Date; error?: MessageError },
): EventDraft =>
  toDraft(message, "message.status", {
    message_id: message.id,
    platform_message_id: message.platform_message_id,
    status,
    at: at.toISOString(),
    recipient: message.recipient,
    errors: error ? [toPlatformError(error)] : [],
  });

const toPlatformError = ({ code, title, message, details }: MessageError) => ({
  code,
  title,
  message,
  ...(details === null ? {} : { error_data: { details } }),
});
