import { JsonText, stringifyJson } from "../../runtime/json/json.ts";
import type { JsonSource } from "../../runtime/json/json-source.ts";
import type { DispatchKey, EventType } from "../../schema/enumerations.ts";
import { asList, asObject, dateOf, type Fields, numberOf, objectIn, omitNullish, textOf } from "../bodies.ts";

/** The asset an update concerns, by the platform's id. The database determines which client owns it. */
export interface Asset {
  kind: "number" | "waba" | "page" | "photo_account" | "ad_account";
  id: string;
  /** The number in display format, when an update of a business concerns one of its numbers. */
  displayNumber?: string | undefined;
  /** Drops the update when several clients could own it, so that none gets another client's data. */
  requiresSingleOwner?: boolean;
}

/** An unparsed update. */
export interface Update {
  asset: Asset;
  key: DispatchKey;
  /** The platform's name for this kind of update. */
  field: string;
  /** The envelope's time. */
  time: Date | undefined;
  /** When Herald received the webhook; used when the platform reports no time. */
  receivedAt: Date;
  source: JsonSource;
}

/** The event content a reader extracts from an update. */
export interface UpdateContent {
  type: EventType;
  data: Fields;
  /** Defaults to the time found in the update, then to the envelope's. */
  at?: Date | undefined;
  /** Identifies a repeated update; defaults to its field, asset, time and text. */
  dedupKey?: string | undefined;
  /** Overrides for the envelope's asset and key. */
  asset?: Asset;
  key?: DispatchKey;
  /** The platform ended the connection: channels connected before this event are disconnected. */
  endsConnection?: boolean;
  /** The status of one message, or of all messages up to a time. */
  status?: MessageStatus;
  watermark?: Watermark;
}

/** A parsed update, ready to become an event. */
export interface Reading
  extends Required<Pick<UpdateContent, "type" | "asset" | "key" | "endsConnection">>,
    Pick<UpdateContent, "status" | "watermark"> {
  occurredAt: Date;
  data: JsonText;
  /** `data` as an object, for callers that add fields. */
  fields: Fields;
  raw: JsonText;
  dedupKey: string;
}

/** Reads an update's value. Returns `nothing` when it needs no event, `unknown` for an unknown kind or format. */
export type Reader = (value: unknown, update: Update) => UpdateContent | "nothing" | "unknown";

/** Undefined when no event is needed. A faulty update becomes a raw event and does not affect the others. */
export function readUpdate(update: Update, reader: Reader): Reading | undefined {
  try {
    const value = update.source.parse();
    const found = reader(value, update);
    if (found === "nothing") return undefined;
    const content = found === "unknown" ? toRawContent(update, update.field) : found;
    return toReading(update, { ...content, at: content.at ?? findTimestamp(value) });
  } catch {
    // Values nested too deeply to parse or serialise, for example, become raw events like unknown updates.
  }
  return toReading(update, toRawContent(update, update.field));
}

/** Wraps the platform's JSON unchanged under its field name. */
export const toRawContent = ({ source }: Update, field: string): UpdateContent => ({
  type: "platform.event",
  data: { field, value: new JsonText(source.text) },
});

/** Event types whose data has the time of the event as `at`. */
const TIMED_TYPES: readonly EventType[] = [
  "message.received",
  "message.status",
  "channel.updated",
  "comment.created",
  "comment.updated",
  "comment.deleted",
  "mention.created",
  "post.updated",
];

function toReading(update: Update, content: UpdateContent): Reading {
  const { asset, key, time, receivedAt, source } = update;
  const { type, status, watermark } = content;
  const occurredAt = content.at ?? time ?? receivedAt;
  const at = TIMED_TYPES.includes(type) ? { at: toTimestamp(occurredAt) } : {};
  const fields = { ...content.data, ...at };
  return {
    asset: content.asset ?? asset,
    key: content.key ?? key,
    type,
    occurredAt,
    data: new JsonText(stringifyJson(fields)),
    fields,
    raw: new JsonText(source.text),
    // The key includes the time because the same change can happen again.
    dedupKey: content.dedupKey ?? [update.field, asset.id, time?.getTime(), source.text].join(" "),
    endsConnection: content.endsConnection ?? false,
    ...(status ? { status } : {}),
    ...(watermark ? { watermark } : {}),
  };
}

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
  const { details } = objectIn(error_data);
  const texts = {
    title: textOf(title) ?? null,
    message: textOf(message) ?? null,
    details: textOf(details) ?? null,
  };
  const errorCode = Number.isSafeInteger(code) ? (code as number) : textOf(code);
  if (errorCode === undefined && Object.values(texts).every((text) => text === null)) return undefined;
  return { code: errorCode ?? "unknown", ...texts };
}

/** Values at or above this are milliseconds: as seconds they would be after the year 5000. */
const MIN_EPOCH_MS = 1e11;
const MIN_TIME_MS = Date.UTC(2000, 0, 1);
const MAX_TIME_MS = Date.UTC(9999, 0, 1);

/** Parses a time in seconds or milliseconds; undefined when it is not a plausible time. */
export function parseTimestamp(value: unknown): Date | undefined {
  const number = numberOf(typeof value === "bigint" ? Number(value) : value);
  if (number === undefined) return undefined;
  const date = dateOf(number >= MIN_EPOCH_MS ? number / 1000 : number);
  return date && date.getTime() >= MIN_TIME_MS && date.getTime() < MAX_TIME_MS ? date : undefined;
}

/** Fields in which the platforms report when an update happened. */
const TIME_FIELDS = ["timestamp", "time", "created_time"];
/** Deeper times belong to older content, such as the messages of a history. */
const MAX_SEARCH_DEPTH = 3;
const MAX_SEARCHED_PER_LEVEL = 100;

/** Finds the time that is nearest to the top of a value. */
export function findTimestamp(value: unknown): Date | undefined {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= MAX_SEARCH_DEPTH; depth++) {
    for (const item of level) {
      const fields = asObject(item);
      const found = TIME_FIELDS.map((name) => parseTimestamp(fields[name])).find(Boolean);
      if (found) return found;
    }
    level = level.flatMap(partsOf).slice(0, MAX_SEARCHED_PER_LEVEL);
  }
  return undefined;
}

/** The objects and lists in a value. */
const partsOf = (value: unknown): unknown[] =>
  Object.values(value ?? {})
    .slice(0, MAX_SEARCHED_PER_LEVEL)
    .filter((part) => typeof part === "object");

/** Formats a time for an event. */
export const toTimestamp = (date: Date | undefined): string | undefined => date?.toISOString();
