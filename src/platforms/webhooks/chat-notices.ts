import {
  asObject,
  type Fields,
  isObject,
  nonEmptyObject,
  omitFields,
  omitNullish,
  textOf,
} from "../bodies.ts";
import { toTemplateStatus } from "../chat/templates.ts";
import { type Contacts, personOf, readEcho } from "./chat-messages.ts";
import { type Asset, parseTimestamp, type Reader, type Update, type UpdateContent } from "./updates.ts";

/** Readers for webhooks about templates, numbers and the business, by field name. */
export const NOTICES: Readonly<Record<string, Reader>> = {
  message_template_status_update: templateReader("template.status_updated", ({ event, reason }) => {
    const word = textOf(event);
    if (word === undefined) return undefined;
    return { status: toTemplateStatus(word), platform_status: word, reason: textOf(reason) };
  }),
  message_template_quality_update: templateReader("template.quality_updated", (value) => ({
    before: textOf(value.previous_quality_score),
    after: textOf(value.new_quality_score),
  })),
  template_category_update: templateReader("template.category_updated", (value) => ({
    before: textOf(value.previous_category),
    after: textOf(value.new_category),
  })),
  account_update: readAccountUpdate,
  account_review_update: changeReader("decision"),
  account_alerts: readAccountAlert,
  business_capability_update: changeReader("max_daily_conversations_per_business"),
  phone_number_name_update: changeReader("decision"),
  phone_number_quality_update: changeReader("event"),
  business_username_updates: changeReader("status"),
  business_username_update: changeReader("status"),
  security: changeReader("event"),
  message_template_components_update: changeReader(),
  flows: changeReader("event"),
  user_preferences: changeReader("value"),
  user_id_update: changeReader(),
  smb_app_state_sync: changeReader(),
  smb_message_echoes: changeReader(),
  history: changeReader(),
  calls: changeReader(),
};

/** Fields with personal data: not delivered to every client that has a number of the business. */
export const PERSONAL_FIELDS = [
  "messages",
  "user_preferences",
  "user_id_update",
  "smb_app_state_sync",
  "smb_message_echoes",
  "history",
  "calls",
];

function templateReader(
  type: UpdateContent["type"],
  toDetails: (value: Fields) => Fields | undefined,
): Reader {
  return (rawValue) => {
    const value = asObject(rawValue);
    const [id, details] = [textOf(value.message_template_id), toDetails(value)];
    if (id === undefined || details === undefined) return "unknown";
    const data = omitNullish({
      hsm_id: id,
      name: textOf(value.message_template_name ?? value.name),
      language: textOf(value.message_template_language ?? value.language)?.replace("-", "_"),
      ...details,
    });
    return { type, data };
  };
}

/** Reads a change; the value of the field `afterField` becomes `after`. */
function changeReader(afterField = ""): Reader {
  return (rawValue, update) => {
    const value = asObject(rawValue);
    return toChange(update, value, { after: textOf(value[afterField]), afterField });
  };
}

interface ChangeParts {
  after: string | undefined;
  /** Left out of the details because `after` has its value. */
  afterField?: string;
}

/** Fields of the envelope: the event has the channel and the time. */
const ENVELOPE_FIELDS = ["messaging_product", "metadata", "timestamp"];

function toChange(
  { field, asset }: Update,
  value: Fields,
  { after, afterField = "" }: ChangeParts,
): UpdateContent {
  const presented = after === undefined ? ENVELOPE_FIELDS : [...ENVELOPE_FIELDS, afterField];
  const details = nonEmptyObject(omitFields(value, presented));
  return {
    type: "channel.updated",
    data: { change: field, ...omitNullish({ after, details }) },
    asset: withDisplayNumber(asset, value),
  };
}

/** Some webhooks of a business concern one number, given only in display format. */
function withDisplayNumber(asset: Asset, { display_phone_number }: Fields): Asset {
  const displayNumber = textOf(display_phone_number);
  return displayNumber === undefined ? asset : { ...asset, displayNumber, requiresSingleOwner: true };
}

function readAccountAlert(rawValue: unknown, update: Update): UpdateContent {
  const value = asObject(rawValue);
  return toChange(update, value, { after: textOf(asObject(value.alert_info).alert_type) });
}

/** Events after which Herald has no access to the business. */
const DISCONNECT_EVENTS = [
  "PARTNER_REMOVED",
  "PARTNER_APP_UNINSTALLED",
  "ACCOUNT_DELETED",
  "ACCOUNT_OFFBOARDED",
];

function readAccountUpdate(rawValue: unknown, update: Update): UpdateContent {
  const value = asObject(rawValue);
  const event = textOf(value.event);
  return {
    ...toChange(update, value, { after: event, afterField: "event" }),
    // A webhook about a partner may name a different business in its envelope.
    asset: { ...update.asset, id: textOf(asObject(value.waba_info).waba_id) ?? update.asset.id },
    endsConnection: event !== undefined && DISCONNECT_EVENTS.includes(event),
  };
}

/** A notice that lists several entries, each of which becomes an event. */
interface ListedNotice {
  /** The field that has the list. */
  list: string;
  entryReader(contacts: Contacts): Reader;
}

/** By field name. */
export const LISTED_NOTICES: Readonly<Record<string, ListedNotice>> = {
  smb_message_echoes: { list: "message_echoes", entryReader: () => readEcho },
  user_preferences: { list: "user_preferences", entryReader: preferenceReader },
  user_id_update: { list: "user_id_update", entryReader: idUpdateReader },
};

/** A later notice may repeat an entry: an entry with a time of its own is identified without the envelope's. */
const entryKeyOf = ({ field, asset, source }: Update, timestamp: unknown): string | undefined =>
  parseTimestamp(timestamp) && [field, asset.id, source.text].join(" ");

const PREFERENCE_FIELDS = ["wa_id", "user_id", "category", "value", "timestamp"];

/** Reads the choice of a person to stop, resume or sign up for a category of messages. */
function preferenceReader(contacts: Contacts): Reader {
  return (entry, update) => {
    if (!isObject(entry)) return "unknown";
    const rest = {
      after: textOf(entry.value),
      person: nonEmptyObject(contacts.complete(personOf(entry.wa_id, entry.user_id))),
      category: textOf(entry.category),
      details: nonEmptyObject(omitFields(entry, PREFERENCE_FIELDS)),
    };
    const data = { change: update.field, ...omitNullish(rest) };
    return { type: "channel.updated", data, dedupKey: entryKeyOf(update, entry.timestamp) };
  };
}

const ID_UPDATE_FIELDS = ["wa_id", "user_id", "timestamp"];

/** Reads the new business-scoped id of a person. */
function idUpdateReader(contacts: Contacts): Reader {
  return (entry, update) => {
    if (!isObject(entry)) return "unknown";
    const { previous, current } = asObject(entry.user_id);
    const rest = {
      before: textOf(previous),
      after: textOf(current),
      person: nonEmptyObject(contacts.complete(personOf(entry.wa_id, current))),
      details: nonEmptyObject(omitFields(entry, ID_UPDATE_FIELDS)),
    };
    const data = { change: update.field, ...omitNullish(rest) };
    return { type: "channel.updated", data, dedupKey: entryKeyOf(update, entry.timestamp) };
  };
}
