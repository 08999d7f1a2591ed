import type { JsonText } from "../../runtime/json/json.ts";
import type { Fields } from "../client/body.ts";
import { asList, asObject, omitNullish, parseObject, textOf } from "../client/json-values.ts";
import { toTimestamp } from "./timestamps.ts";

/** How far a message has come, whoever's it is. */
export interface MessageStatus {
  platformMessageId: string;
  /** The platform's, which may be one that we do not know. */
  word: string;
  /** What was given to the platform with the message, and comes back with each status. */
  callback?: string | undefined;
  error?: StatusError | undefined;
}

/** Why a message failed. */
export interface StatusError {
  code: number | string;
  title: string | null;
  message: string | null;
  details: string | null;
}

/** How far all messages have come that a person was sent up to a time. */
export interface Watermark {
  word: "delivered" | "read";
  person: string;
  until: Date;
}

interface StatusParts {
  platformMessageId: string | null;
  word: string;
  at: Date | undefined;
  recipient: string | undefined;
  errors?: JsonText | undefined;
  pricing?: JsonText | undefined;
}

/** What is told of a status as long as nobody knows whose message it is about. */
export const toStatusData = ({ platformMessageId, word, at, ...parts }: StatusParts): Fields => ({
  message_id: null,
  platform_message_id: platformMessageId,
  status: word,
  ...omitNullish({ at: toTimestamp(at) }),
  recipient: parts.recipient ?? null,
  errors: parts.errors ?? [],
  ...omitNullish({ pricing: parts.pricing }),
});

/** The first of the errors; undefined where there is none. */
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
