import type { Platform } from "../../schema/enumerations.ts";
import type { ToldMessage } from "../../store/messages/settled-sends.ts";
import type { EventDraft } from "../events/record-events.ts";
import type { MessageError } from "./message-errors.ts";

const about = (message: ToldMessage, type: EventDraft["type"], data: object): EventDraft => ({
  clientId: message.client_id,
  type,
  key: message.platform as Platform,
  channelId: message.channel_id,
  externalRef: message.external_ref,
  messageId: message.id,
  data,
});

/** What came of handing it to the platform. */
export const sendResult = (
  message: ToldMessage,
  outcome: "accepted" | "rejected" | "unknown",
  error?: MessageError,
): EventDraft =>
  about(message, "message.send_result", {
    message_id: message.id,
    outcome,
    ...(message.platform_message_id === null ? {} : { platform_message_id: message.platform_message_id }),
    ...(error ? { error } : {}),
  });

/** How far it has come, where we know it without the platform's telling. */
export const messageStatus = (
  message: ToldMessage,
  status: "sent" | "failed",
  { at, error }: { at: Date; error?: MessageError },
): EventDraft =>
  about(message, "message.status", {
    message_id: message.id,
    platform_message_id: message.platform_message_id,
    status,
    at: at.toISOString(),
    recipient: message.recipient,
    errors: error ? [asPlatformWrites(error)] : [],
  });

const asPlatformWrites = ({ code, title, message, details }: MessageError) => ({
  code,
  title,
  message,
  ...(details === null ? {} : { error_data: { details } }),
});
