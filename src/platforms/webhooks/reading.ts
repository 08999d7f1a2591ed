import { JsonText, stringifyJson } from "../../runtime/json/json.ts";
import type { JsonSource } from "../../runtime/json/json-source.ts";
import type { DispatchKey, EventType } from "../../schema/enumerations.ts";
import type { Fields } from "../client/body.ts";
import type { MessageStatus, Watermark } from "./statuses.ts";
import { findTimestamp, toTimestamp } from "./timestamps.ts";

/** The asset an update concerns, by the platform's id. The database determines which client owns it. */
export interface Asset {
  kind: "number" | "waba" | "page" | "photo account" | "ad account";
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
