import {
  asObject,
  isObject,
  nonEmptyObject,
  omitFields,
  omitNullish,
  textOf,
} from "../client/json-values.ts";
import { readEcho } from "./chat-messages.ts";
import { type Contacts, personOf } from "./people.ts";
import type { Reader, Update } from "./reading.ts";
import { parseTimestamp } from "./timestamps.ts";

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
