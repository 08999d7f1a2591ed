import { jittered } from "../../runtime/async/timeouts-and-retries.ts";
import { MINUTE, SECOND } from "../../runtime/durations.ts";
import type { Platform } from "../../schema/enumerations.ts";
import type { MessageEventRow } from "../../store/messages/lifecycle.ts";
import type { EventDraft } from "../events/record-events.ts";
import type { MessageError } from "./message-errors.ts";

/** Delays after the first attempt, the second and so on; the last one repeats. */
const RETRY_DELAYS_MS = [2 * SECOND, 10 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE] as const;

/** Milliseconds until the next attempt after `attempts` failed ones, with jitter. */
export function sendRetryDelay(attempts: number): number {
  const delay = RETRY_DELAYS_MS[Math.min(attempts, RETRY_DELAYS_MS.length) - 1] ?? RETRY_DELAYS_MS[0];
  return jittered(delay);
}

/** Backoff when one person receives too many messages: the platform wants four times the delay each time. */
export const pairRetryDelay = (attempts: number): number => 4 ** (attempts - 1) * SECOND;

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
    ...(error ? { error: withoutSubcode(error) } : {}),
  });

const withoutSubcode = ({ subcode, ...error }: MessageError) => error;

/** A status that Herald knows without a report from the platform. */
export const messageStatus = (
  message: MessageEventRow,
  status: "sent" | "failed" | "cancelled",
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
