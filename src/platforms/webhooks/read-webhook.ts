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

/** A webhook's content: what it is about, how many updates it has, and those of which there is something to tell. */
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

/** Each kind of object has entries of its own form. Of an unknown one nothing can be told, for nobody owns it. */
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

/** Of a small part; what is nested too deep to be read is none. */
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

/** The number, where it is named; else the business, with what is nobody's business but one client's kept in confidence. */
function chatAsset({ id }: Entry, field: string, value: JsonSource): Asset {
  const number = textOf(asObject(parseSource(value.field("metadata"))).phone_number_id);
  if (number !== undefined) return { kind: "number", id: number };
  const isNotice = Object.hasOwn(NOTICES, field) && !PERSONAL_FIELDS.includes(field);
  return isNotice ? { kind: "waba", id } : { kind: "waba", id, requiresSingleOwner: true };
}

/** Messages and statuses; whatever else stands there is told as it is. */
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

/** Conversations belong to the platform; all else is publishing, but for leads. What other apps handle is not for us. */
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
