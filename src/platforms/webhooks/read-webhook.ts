import { parseJson } from "../../runtime/json/json.ts";
import type { JsonSource } from "../../runtime/json/json-source.ts";
import type { Platform } from "../../schema/enumerations.ts";
import { asObject, lookUp, textOf } from "../client/json-values.ts";
import { AD_NOTICES } from "./ad-account.ts";
import { messageReader, readStatus } from "./chat-messages.ts";
import { NOTICES, PERSONAL_FIELDS } from "./chat-notices.ts";
import { readConversation } from "./conversations.ts";
import { PUBLICATIONS } from "./publications.ts";
import { type Asset, type Reader, type Reading, readUpdate, toRawReading, type Update } from "./reading.ts";
import { parseTimestamp } from "./timestamps.ts";

/** `updates` counts all updates in the webhook; `readings` has those that become events. */
export interface WebhookContent {
  object: string;
  updates: number;
  readings: Reading[];
}

type MaybeReading = Reading | undefined;

interface Entry {
  id: string;
  time: Date | undefined;
  source: JsonSource;
}

/** Entry readers by object type. Unknown objects are skipped because their owner cannot be determined. */
const ENTRY_READERS: Readonly<Record<string, (entry: Entry) => MaybeReading[]>> = {
  whatsapp_business_account: readBusinessEntry,
  page: (entry) => readPageEntry(entry, { kind: "page", id: entry.id }, "socialapp"),
  instagram: (entry) => readPageEntry(entry, { kind: "photo account", id: entry.id }, "photoapp"),
  ad_account: readAdAccountEntry,
};

export function readWebhook(webhook: JsonSource): WebhookContent {
  const object = textOf(parseSource(webhook.field("object"))) ?? "";
  const readEntry = lookUp(ENTRY_READERS, object);
  const entries = webhook.field("entry")?.items() ?? [];
  const found = readEntry ? entries.map(toEntry).flatMap(readEntry) : [];
  const readings = found.filter((reading) => reading !== undefined);
  return {
    object: readEntry ? object : "unknown",
    updates: readEntry ? found.length : entries.length,
    readings,
  };
}

/** Parses a small part of the webhook; undefined when it is nested too deeply. */
function parseSource(source: JsonSource | undefined): unknown {
  try {
    return source && parseJson(source.text);
  } catch {
    return undefined;
  }
}

const toEntry = (source: JsonSource): Entry => ({
  id: textOf(parseSource(source.field("id"))) ?? "",
  time: parseTimestamp(parseSource(source.field("time"))),
  source,
});

interface Change {
  field: string;
  value: JsonSource;
}

const changesOf = ({ source }: Entry): Change[] =>
  (source.field("changes")?.items() ?? []).map((change) => ({
    field: textOf(parseSource(change.field("field"))) ?? "unknown",
    value: change.field("value") ?? change,
  }));

const readerFor = (readers: Readonly<Record<string, Reader>>, field: string): Reader =>
  lookUp(readers, field) ?? (() => "unknown");

function readBusinessEntry(entry: Entry): MaybeReading[] {
  return changesOf(entry).flatMap(({ field, value }) => {
    const update: Update = {
      asset: chatAsset(entry, field, value),
      key: "chatapp",
      field,
      time: entry.time,
      source: value,
    };
    return field === "messages" ? readChatUpdate(update) : [readUpdate(update, readerFor(NOTICES, field))];
  });
}

/**
 * The number when the update names it, otherwise the business. Personal or unknown fields of a business are
 * limited to a single owner.
 */
function chatAsset({ id }: Entry, field: string, value: JsonSource): Asset {
  const number = textOf(asObject(parseSource(value.field("metadata"))).phone_number_id);
  if (number !== undefined) return { kind: "number", id: number };
  const isNotice = Object.hasOwn(NOTICES, field) && !PERSONAL_FIELDS.includes(field);
  return isNotice ? { kind: "waba", id } : { kind: "waba", id, requiresSingleOwner: true };
}

/** Reads messages and statuses; forwards an update with neither as a raw event. */
function readChatUpdate(update: Update): MaybeReading[] {
  const value = update.source;
  const readEach = (field: string, reader: Reader) =>
    (value.field(field)?.items() ?? []).map((source) => readUpdate({ ...update, source }, reader));
  const found = [
    ...readEach("messages", messageReader(parseSource(value.field("contacts")))),
    ...readEach("statuses", readStatus),
  ];
  return found.length > 0 ? found : [toRawReading(update)];
}

/**
 * Conversations use the platform's key, other changes `publishing` (leads set their own). `standby` events
 * belong to other apps and are ignored.
 */
function readPageEntry(entry: Entry, asset: Asset, platform: Platform): MaybeReading[] {
  const { time, source } = entry;
  const events = (source.field("messaging")?.items() ?? []).map((event) =>
    readUpdate({ asset, key: platform, field: "messaging", time, source: event }, readConversation),
  );
  const changes = changesOf(entry).map(({ field, value }) =>
    readUpdate({ asset, key: "publishing", field, time, source: value }, readerFor(PUBLICATIONS, field)),
  );
  return [...events, ...changes];
}

function readAdAccountEntry(entry: Entry): MaybeReading[] {
  return changesOf(entry).map(({ field, value }) => {
    const asset: Asset = { kind: "ad account", id: entry.id };
    const update: Update = { asset, key: "marketing", field, time: entry.time, source: value };
    return readUpdate(update, readerFor(AD_NOTICES, field));
  });
}
