import { JsonText, parseJson, stringifyJson } from "../../runtime/json/json.ts";
import type { JsonSource } from "../../runtime/json/json-source.ts";
import type { DispatchKey, EventType } from "../../schema/enumerations.ts";
import type { Fields } from "../client/body.ts";
import type { MessageStatus, Watermark } from "./statuses.ts";

/** What an update is about, by the platform's id. Whose that is, is not for the platform to say. */
export interface Asset {
  kind: "number" | "waba" | "page" | "photo account" | "ad account";
  id: string;
  /** The number as people write it, where an update of a whole business tells of one of its numbers. */
  displayNumber?: string | undefined;
  /** For one client alone: where several have a part in it and it is not known whose this is, nobody hears of it. */
  requiresSingleOwner?: boolean;
}

/** One update as it came, not read yet. */
export interface Update {
  asset: Asset;
  key: DispatchKey;
  /** What the platform calls this kind of update. */
  field: string;
  /** When it happened, as far as the envelope tells. */
  time: Date | undefined;
  source: JsonSource;
}

/** What an update says. */
export interface UpdateContent {
  type: EventType;
  data: Fields;
  at?: Date | undefined;
  /** What it is known by when it comes again; absent: by its own text and time. */
  dedupKey?: string | undefined;
  /** Where these are others than the envelope's. */
  asset?: Asset;
  key?: DispatchKey;
  /** The platform has cut the connection: what was connected by then has ended. */
  endsConnection?: boolean;
  /** What it says of a message that was sent, or of many. */
  status?: MessageStatus;
  watermark?: Watermark;
}

/** An update that was read: an event to be. */
export interface Reading
  extends Required<Pick<UpdateContent, "type" | "asset" | "key" | "endsConnection">>,
    Pick<UpdateContent, "status" | "watermark"> {
  occurredAt: Date | undefined;
  data: JsonText;
  /** The same as fields, for whom can add to it. */
  fields: Fields;
  raw: JsonText;
  dedupKey: string;
}

/** Reads the value of an update. `nothing` is to be told of it, or it is of an unknown kind or form. */
export type Reader = (value: unknown, update: Update) => UpdateContent | "nothing" | "unknown";

/** The event, or undefined where there is nothing to tell. Whatever is wrong with one update stays its own matter. */
export function readUpdate(update: Update, reader: Reader): Reading | undefined {
  try {
    const found = reader(parseJson(update.source.text), update);
    if (found === "nothing") return undefined;
    if (found !== "unknown") return toReading(update, found);
  } catch {
    // Nested too deep to be written again, for one: told as it stands, like all that is unknown.
  }
  return toRawReading(update);
}

/** Told in the platform's own words, under its name for it. */
export const toRawContent = ({ source }: Update, field: string): UpdateContent => ({
  type: "platform.event",
  data: { field, value: new JsonText(source.text) },
});

export const toRawReading = (update: Update): Reading =>
  toReading(update, toRawContent(update, update.field));

function toReading(update: Update, content: UpdateContent): Reading {
  const { asset, key, time, source } = update;
  const { status, watermark } = content;
  return {
    asset: content.asset ?? asset,
    key: content.key ?? key,
    type: content.type,
    occurredAt: content.at ?? time,
    data: new JsonText(stringifyJson(content.data)),
    fields: content.data,
    raw: new JsonText(source.text),
    // The time too: what has been so before may become so again.
    dedupKey: content.dedupKey ?? [update.field, asset.id, time?.getTime(), source.text].join(" "),
    endsConnection: content.endsConnection ?? false,
    ...(status ? { status } : {}),
    ...(watermark ? { watermark } : {}),
  };
}
