import type { JsonSource, OpaqueLimits } from "../../runtime/json/json-source.ts";
import type { Platform } from "../../schema/enumerations.ts";
import { asList, asObject, lookUp, omitNullish, textOf } from "../bodies.ts";
import { messageReader, readContacts, readStatus } from "./chat-messages.ts";
import { LISTED_NOTICES, NOTICES, PERSONAL_FIELDS } from "./chat-notices.ts";
import { CONVERSATION_FIELDS, PUBLICATIONS, readConversation } from "./page-updates.ts";
import { type Asset, parseTimestamp, type Reader, type Reading, readUpdate, type Update } from "./updates.ts";

/**
 * The fields of a change or of a conversation event have level 6. An update with a deeper field is forwarded raw: its asset
 * follows from its entry and the name of its field.
 */
export const UPDATE_LIMITS: OpaqueLimits = { level: 6, maxDepth: 10_000 };

export interface WebhookContent {
  object: string;
  /** Reads one update per step, because a webhook may have thousands. Undefined for an update without an event. */
  updates: Iterable<MaybeReading>;
}

type MaybeReading = Reading | undefined;

interface Entry {
  id: string;
  time: Date | undefined;
  receivedAt: Date;
  source: JsonSource;
}

type EntryReader = (entry: Entry) => Iterable<MaybeReading>;

/** Entry readers by object type. Unknown objects are skipped because their owner cannot be determined. */
const ENTRY_READERS: Readonly<Record<string, EntryReader>> = {
  whatsapp_business_account: readBusinessEntry,
  page: (entry) => readPageEntry(entry, { kind: "page", id: entry.id }, "socialapp"),
  instagram: (entry) => readPageEntry(entry, { kind: "photo_account", id: entry.id }, "photoapp"),
  ad_account: readAdAccountEntry,
};

export function readWebhook(webhook: JsonSource, receivedAt = new Date()): WebhookContent {
  const object = textOf(parseField(webhook, "object")) ?? "";
  const readEntry = lookUp(ENTRY_READERS, object);
  const entries = webhook.field("entry")?.items() ?? [];
  return readEntry
    ? { object, updates: readEntries(entries, (entry) => readEntry(toEntry(entry, receivedAt))) }
    : { object: "unknown", updates: entries.map(() => undefined) };
}

/** An entry without updates is a step of its own: half a million of them in one step would block the event loop. */
function* readEntries(
  entries: readonly JsonSource[],
  readEntry: (entry: JsonSource) => Iterable<MaybeReading>,
): Generator<MaybeReading> {
  for (const entry of entries) {
    let isEmpty = true;
    for (const reading of readEntry(entry)) {
      isEmpty = false;
      yield reading;
    }
    if (isEmpty) yield undefined;
  }
}

/** Parses a small part of the webhook; undefined when it has an integer that is too long or a value that is opaque. */
function parseField(source: JsonSource, name: string): unknown {
  try {
    return source.parseField(name);
  } catch {
    return undefined;
  }
}

const toEntry = (source: JsonSource, receivedAt: Date): Entry => ({
  id: textOf(parseField(source, "id")) ?? "",
  time: parseTimestamp(parseField(source, "time")),
  receivedAt,
  source,
});

interface Change {
  field: string;
  value: JsonSource;
}

const changesOf = ({ source }: Entry): Change[] =>
  (source.field("changes")?.items() ?? []).map((change) => ({
    field: textOf(parseField(change, "field")) ?? "unknown",
    value: change.field("value") ?? change,
  }));

const readerFor = (readers: Readonly<Record<string, Reader>>, field: string): Reader =>
  lookUp(readers, field) ?? (() => "unknown");

/** Prepares a change of an entry; the envelope fields are the same for all changes. */
const toUpdate = (
  { time, receivedAt }: Entry,
  { field, value: source }: Change,
  { asset, key }: Pick<Update, "asset" | "key">,
): Update => ({ asset, key, field, time, receivedAt, source });

function* readBusinessEntry(entry: Entry): Generator<MaybeReading> {
  for (const change of changesOf(entry)) {
    const update = toUpdate(entry, change, { asset: chatAsset(entry, change), key: "chatapp" });
    yield* change.field === "messages" ? readChatUpdate(update) : readNotice(update);
  }
}

/**
 * The number when the update names it, otherwise the business. Personal or unknown fields of a business are
 * limited to a single owner.
 */
function chatAsset({ id }: Entry, { field, value }: Change): Asset {
  const number = textOf(asObject(parseField(value, "metadata")).phone_number_id);
  if (number !== undefined) return { kind: "number", id: number };
  const isNotice = Object.hasOwn(NOTICES, field) && !PERSONAL_FIELDS.includes(field);
  return isNotice ? { kind: "waba", id } : { kind: "waba", id, requiresSingleOwner: true };
}

const contactsIn = (value: JsonSource, persons: number) =>
  readContacts(parseField(value, "contacts"), persons);

/** Reads messages and statuses; forwards an update with neither as a raw event. */
function* readChatUpdate(update: Update): Generator<MaybeReading> {
  const value = update.source;
  const messages = value.field("messages")?.items() ?? [];
  const statuses = value.field("statuses")?.items() ?? [];
  const count = messages.length + statuses.length;
  if (count === 0) yield readUpdate(update, () => "unknown");
  const readMessage = messageReader(contactsIn(value, count));
  for (const source of messages) yield readUpdate({ ...update, source }, readMessage);
  for (const source of statuses) yield readUpdate({ ...update, source }, readStatus);
}

/** Reads each entry of a notice that lists several, and any other notice as a whole. */
function* readNotice(update: Update): Generator<MaybeReading> {
  const listed = lookUp(LISTED_NOTICES, update.field);
  const entries = listed ? (update.source.field(listed.list)?.items() ?? []) : [];
  if (!listed || entries.length === 0) {
    yield readUpdate(update, readerFor(NOTICES, update.field));
    return;
  }
  const readEntry = listed.entryReader(contactsIn(update.source, entries.length));
  for (const source of entries) yield readUpdate({ ...update, source }, readEntry);
}

/**
 * Conversations use the platform's key, other changes `publishing` (leads set their own). `standby` events
 * belong to other apps and are ignored.
 */
function* readPageEntry(entry: Entry, asset: Asset, platform: Platform): Generator<MaybeReading> {
  for (const value of entry.source.field("messaging")?.items() ?? [])
    yield readUpdate(
      toUpdate(entry, { field: "messaging", value }, { asset, key: platform }),
      readConversation,
    );
  for (const change of changesOf(entry))
    yield CONVERSATION_FIELDS.includes(change.field)
      ? readUpdate(toUpdate(entry, change, { asset, key: platform }), readConversation)
      : readUpdate(
          toUpdate(entry, change, { asset, key: "publishing" }),
          readerFor(PUBLICATIONS, change.field),
        );
}

function* readAdAccountEntry(entry: Entry): Generator<MaybeReading> {
  const asset: Asset = { kind: "ad_account", id: entry.id };
  for (const change of changesOf(entry))
    yield readUpdate(
      toUpdate(entry, change, { asset, key: "marketing" }),
      readerFor(AD_NOTICES, change.field),
    );
}

/** Maps the levels of `field_changed` to the spelling the other fields use. */
const LEVELS: Readonly<Record<string, string>> = { campaign: "CAMPAIGN", adset: "AD_SET", ad: "AD" };

/** Readers for ad account webhooks, by field name. */
const AD_NOTICES: Readonly<Record<string, Reader>> = {
  with_issues_ad_objects(rawValue) {
    const { id, level, error_code, error_message, error_summary } = asObject(rawValue);
    const objectId = textOf(id);
    if (objectId === undefined) return "unknown";
    const message = textOf(error_message) ?? textOf(error_summary);
    const rest = { level: textOf(level), error_code: textOf(error_code), message };
    return { type: "ad_object.with_issues", data: { object_id: objectId, ...omitNullish(rest) } };
  },
  in_process_ad_objects(rawValue) {
    const { id, level, status_name } = asObject(rawValue);
    const objectId = textOf(id);
    if (objectId === undefined) return "unknown";
    const rest = { level: textOf(level), status: textOf(status_name) };
    return { type: "ad_object.status_changed", data: { object_id: objectId, ...omitNullish(rest) } };
  },
  /** Reports that the status changed, but not to which value. */
  field_changed(rawValue) {
    const { object_id, object_type, changed_fields } = asObject(rawValue);
    const objectId = textOf(object_id);
    if (objectId === undefined || !asList(changed_fields).includes("effective_status")) return "unknown";
    const level = textOf(object_type);
    const rest = { level: level && (lookUp(LEVELS, level) ?? level) };
    return { type: "ad_object.status_changed", data: { object_id: objectId, ...omitNullish(rest) } };
  },
  creative_fatigue(rawValue) {
    const { adgroup_id, creative_fatigue_level, creative_fatigue_message } = asObject(rawValue);
    const adId = textOf(adgroup_id);
    if (adId === undefined) return "unknown";
    const rest = { level: textOf(creative_fatigue_level), message: textOf(creative_fatigue_message) };
    return { type: "creative.fatigue", data: { ad_id: adId, ...omitNullish(rest) } };
  },
};
