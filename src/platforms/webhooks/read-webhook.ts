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

export interface WebhookContent {
  object: string;
  /** Reads one update per step, because a webhook may have thousands. Undefined for an update without an event. */
  updates: Iterable<MaybeReading>;
}

type MaybeReading = Reading | undefined;

interface Entry {
  id: string;
  time: Date | undefined;
  source: JsonSource;
}

type EntryReader = (entry: Entry) => Iterable<MaybeReading>;

/** Entry readers by object type. Unknown objects are skipped because their owner cannot be determined. */
const ENTRY_READERS: Readonly<Record<string, EntryReader>> = {
  whatsapp_business_account: readBusinessEntry,
  page: (entry) => readPageEntry(entry, { kind: "page", id: entry.id }, "socialapp"),
  instagram: (entry) => readPageEntry(entry, { kind: "photo account", id: entry.id }, "photoapp"),
  ad_account: readAdAccountEntry,
};

export function readWebhook(webhook: JsonSource): WebhookContent {
  const object = textOf(parseSource(webhook.field("object"))) ?? "";
  const readEntry = lookUp(ENTRY_READERS, object);
  const entries = webhook.field("entry")?.items() ?? [];
  return readEntry
    ? { object, updates: readEntries(entries, readEntry) }
    : { object: "unknown", updates: entries.map(() => undefined) };
}

/** An entry without updates is a step of its own: half a million of them in one step would block the event loop. */
function* readEntries(entries: readonly JsonSource[], readEntry: EntryReader): Generator<MaybeReading> {
  for (const entry of entries) {
    let isEmpty = true;
    for (const reading of readEntry(toEntry(entry))) {
      isEmpty = false;
      yield reading;
    }
    if (isEmpty) yield undefined;
  }
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

function* readBusinessEntry(entry: Entry): Generator<MaybeReading> {
  for (const { field, value } of changesOf(entry)) {
    const update: Update = {
      asset: chatAsset(entry, field, value),
      key: "chatapp",
      field,
      time: entry.time,
      source: value,
    };
    if (field === "messages") yield* readChatUpdate(update);
    else yield readUpdate(update, readerFor(NOTICES, field));
  }
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
function* readChatUpdate(update: Update): Generator<MaybeReading> {
  const value = update.source;
  const messages = value.field("messages")?.items() ?? [];
  const statuses = value.field("statuses")?.items() ?? [];
  if (messages.length + statuses.length === 0) yield toRawReading(update);
  const readMessage = messageReader(parseSource(value.field("contacts")));
  for (const source of messages) yield readUpdate({ ...update, source }, readMessage);
  for (const source of statuses) yield readUpdate({ ...update, source }, readStatus);
}

/**
 * Conversations use the platform's key, other changes `publishing` (leads set their own). `standby` events
 * belong to other apps and are ignored.
 */
function* readPageEntry(entry: Entry, asset: Asset, platform: Platform): Generator<MaybeReading> {
  const { time, source } = entry;
  for (const event of source.field("messaging")?.items() ?? [])
    yield readUpdate({ asset, key: platform, field: "messaging", time, source: event }, readConversation);
  for (const { field, value } of changesOf(entry))
    yield readUpdate(
      { asset, key: "publishing", field, time, source: value },
      readerFor(PUBLICATIONS, field),
    );
}

function* readAdAccountEntry(entry: Entry): Generator<MaybeReading> {
  const asset: Asset = { kind: "ad account", id: entry.id };
  for (const { field, value } of changesOf(entry)) {
    const update: Update = { asset, key: "marketing", field, time: entry.time, source: value };
    yield readUpdate(update, readerFor(AD_NOTICES, field));
  }
}
