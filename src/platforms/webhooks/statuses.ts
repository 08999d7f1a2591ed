import type { JsonText } from "../../runtime/json/json.ts";
import type { Fields } from "../client/body.ts";
import { asList, asObject, omitNullish, parseObject, textOf } from "../client/json-values.ts";

/** A message's status as the platform reports it. */
export interface MessageStatus {
  platformMessageId: string;
  /** The platform's status, which may be unknown to Herald. */
  word: string;
  /** The callback data sent with the message; the platform returns it with each status. */
  callback?: string | undefined;
  error?: StatusError | undefined;
}

/** The reason a message failed. */
export interface StatusError {
  code: number | string;
  title: string | null;
  message: string | null;
  details: string | null;
}

/** A status that applies to all messages sent to a person up to a time. */
export interface Watermark {
  word: "delivered" | "read";
  person: string;
  until: Date;
}

interface StatusParts {
  platformMessageId: string | null;
  word: string;
  recipient: string | undefined;
  errors?: JsonText | undefined;
  pricing?: JsonText | undefined;
}

/** Event data of a status whose message is not known yet: `message_id` is null. */
export const toStatusData = ({ platformMessageId, word, ...parts }: StatusParts): Fields => ({
  message_id: null,
  platform_message_id: platformMessageId,
  status: word,
  recipient: parts.recipient ?? null,
  errors: parts.errors ?? [],
  ...omitNullish({ pricing: parts.pricing }),
});

/** Undefined when there is no error. */
export function firstErrorOf(errors: unknown): StatusError | undefined {
  const { code, title, message, error_data } = asObject(asList(errors)[0]);
  const { details } = typeof error_data === "string" ? parseObject(error_data) : asObject(error_data);
  const texts = {
    title: textOf(title) ?? null,
    message: textOf(message) ?? null,
    details: textOf(details) ?? null,
  };
  const errorCode = typeof code === "number" ? code : textOf(code);
  if (errorCode === undefined && Object.values(texts).every((text) => text === null)) return undefined;
  return { code: errorCode ?? "unknown", ...texts };
}
