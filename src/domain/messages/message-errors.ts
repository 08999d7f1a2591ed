import type { UnknownReason } from "../../platforms/sends.ts";
import type { StatusError } from "../../platforms/webhooks/updates.ts";
import { SEND_TTL_MS } from "../../runtime/deadlines.ts";
import { HOUR } from "../../runtime/durations.ts";
import { errorCodeOf, type MessageErrorCode } from "../../schema/causes/causes.ts";
import type { StoredError } from "../../store/messages/lifecycle.ts";

/** Why a message failed; `code` is the platform's number or one of our codes. */
export interface MessageError {
  code: number | string;
  /** The platform's subcode. It decides the cause; neither the message nor its events show it. */
  subcode?: number;
  title: string;
  message: string;
  details: string | null;
}

export const toStoredError = (error: MessageError | StatusError): StoredError => ({
  error: JSON.stringify(error),
  error_code: errorCodeOf(error),
});

const messageError = (code: MessageErrorCode, title: string, message: string): MessageError => ({
  code,
  title,
  message,
  details: null,
});

const outcomeUnknown = (message: string): MessageError =>
  messageError("outcome_unknown", "Outcome unknown", message);

export const OUTCOME_UNKNOWN = outcomeUnknown(
  "The message may have been sent, but the platform has not reported its outcome; it was not sent again",
);

/** Errors of attempts whose outcome is unknown. interrupted: the dispatcher ended before the platform answered. */
export const UNKNOWN_ATTEMPT_ERRORS: Readonly<Record<UnknownReason | "interrupted", MessageError>> = {
  timeout: outcomeUnknown("The platform did not answer in time"),
  broken: outcomeUnknown("The connection to the platform broke before it answered"),
  unreadable: outcomeUnknown("The platform's answer could not be read"),
  no_receipt: outcomeUnknown("The platform's answer does not confirm the message"),
  fault: outcomeUnknown("The request ended with an internal error"),
  interrupted: outcomeUnknown("The dispatcher stopped before the platform answered"),
};

export const CHANNEL_DISCONNECTED = messageError(
  "channel_disconnected",
  "Channel disconnected",
  "The channel was not connected, so the message was not sent",
);

export const EXPIRED = messageError(
  "expired",
  "Not sent in time",
  `The message could not be sent within ${SEND_TTL_MS / HOUR} hours of its acceptance`,
);

export const QUARANTINED = messageError(
  "quarantined",
  "Quarantined",
  "Several dispatchers stopped unexpectedly before they sent the message; it was not sent",
);

export const DISCARDED = messageError(
  "discarded",
  "Discarded",
  "The operator of the service discarded the message while it was queued; it is no longer sent",
);

export const NOT_BUILT = messageError("internal", "Internal error", "The message could not be built");
