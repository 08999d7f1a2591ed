import { JsonText } from "../../runtime/json/json.ts";
import type { JsonSource } from "../../runtime/json/json-source.ts";
import {
  asList,
  asObject,
  type Fields,
  isListOfObjects,
  nonEmptyObject,
  omitNullish,
  textOf,
} from "../bodies.ts";
import { isBusinessScopedId } from "../sends.ts";
import { firstErrorOf, parseTimestamp, type Reader, toStatusData, type UpdateContent } from "./updates.ts";

/** Reads an inbound message. */
export const messageReader =
  (contacts: Contacts): Reader =>
  (value, { time }) => {
    const message = asObject(value);
    const id = textOf(message.id);
    if (id === undefined) return "unknown";
    const type = messageTypeOf(message);
    const from = contacts.describe(personOf(message.from, message.from_user_id));
    // The key includes the type: an edit or a revocation may carry the id of the original message.
    const dedupKey = `message ${id} ${type}`;
    const data = { platform_message_id: id, from, type, ...contentOf(message, type) };
    return { type: "message.received", data, at: parseTimestamp(message.timestamp) ?? time, dedupKey };
  };

/** Reads a message that the business sent with the phone app of a number that Herald also uses. */
export const readEcho: Reader = (value, { time }) => {
  const echo = asObject(value);
  const id = textOf(echo.id);
  if (id === undefined) return "unknown";
  const type = messageTypeOf(echo);
  const data = {
    platform_message_id: id,
    from: omitNullish({ ...personOf(echo.from, echo.from_user_id) }),
    ...omitNullish({ to: textOf(echo.to) ?? textOf(echo.to_user_id) }),
    type: "echo",
    ...contentOf(echo, type),
  };
  const dedupKey = `message ${id} echo ${type}`;
  return { type: "message.received", data, at: parseTimestamp(echo.timestamp) ?? time, dedupKey };
};

const CONTENT_FIELDS = [
  "text",
  "image",
  "video",
  "audio",
  "document",
  "sticker",
  "location",
  "contacts",
  "button",
  "interactive",
  "order",
  "reaction",
  "system",
  "edit",
  "revoke",
];

/** Without a type, the message has the type of its content. */
const messageTypeOf = (message: Fields): string =>
  (textOf(message.type) || undefined) ??
  CONTENT_FIELDS.find((name) => Object.hasOwn(message, name)) ??
  "unsupported";

/** The content and the optional fields of a message. */
const contentOf = (message: Fields, type: string): Fields => ({
  content: Object.hasOwn(message, type) ? message[type] : null,
  ...omitNullish({
    context: contextOf(message.context),
    referral: nonEmptyObject(message.referral),
    group_id: textOf(message.group_id),
    errors: isListOfObjects(message.errors) ? message.errors : undefined,
  }),
});

function contextOf(value: unknown): Fields | undefined {
  const context = nonEmptyObject(value);
  return context && { ...context, ...omitNullish({ message_id: textOf(context.id) }) };
}

/** Reads a message status. `errors` and `pricing` are forwarded as raw JSON because their content is arbitrary. */
export const readStatus: Reader = (value, { time, source }): UpdateContent | "unknown" => {
  const fields = asObject(value);
  const [id, word] = [textOf(fields.id), textOf(fields.status)];
  if (id === undefined || word === undefined) return "unknown";
  const data = toStatusData({
    platformMessageId: id,
    word,
    recipient: textOf(fields.recipient_id) ?? textOf(fields.recipient_user_id),
    errors: isListOfObjects(fields.errors) ? rawField(source, "errors") : undefined,
    pricing: fields.pricing === null ? undefined : rawField(source, "pricing"),
  });
  const status = {
    platformMessageId: id,
    word,
    callback: textOf(fields.biz_opaque_callback_data),
    error: firstErrorOf(fields.errors),
  };
  const at = parseTimestamp(fields.timestamp) ?? time;
  return { type: "message.status", data, at, dedupKey: `status ${id} ${word}`, status };
};

function rawField(source: JsonSource, name: string): JsonText | undefined {
  const field = source.field(name);
  return field && new JsonText(field.text);
}

/** A person at the chat platform; every id can be missing. */
interface Person {
  id?: string | undefined;
  phone?: string | undefined;
  business_scoped_id?: string | undefined;
}

/** Digits, with or without a plus sign. */
const PHONE = /^\+?(\d{1,32})$/;

/** The field for the phone number holds a business-scoped id when the platform withholds the number. */
export function personOf(number: unknown, scopedId: unknown): Person {
  const text = textOf(number) || undefined;
  const phone = text && PHONE.exec(text)?.[1];
  const scoped = (textOf(scopedId) || undefined) ?? (text && isBusinessScopedId(text) ? text : undefined);
  return { id: phone ?? scoped ?? text, phone, business_scoped_id: scoped };
}

interface Contact extends Person {
  profile: Fields;
}

/** Finds persons in the list of contacts that a webhook has next to its messages. */
export interface Contacts {
  /** Completes the ids of a person. */
  complete(person: Person): Fields;
  /** Completes the ids and adds the name and the username. */
  describe(person: Person): Fields;
}

/** `persons` is the number of messages, statuses or entries next to the list. */
export function readContacts(value: unknown, persons: number): Contacts {
  const contacts = asList(value).map(toContact);
  const contactById = new Map(contacts.flatMap((contact) => keysOf(contact).map((key) => [key, contact])));
  const find = (person: Person): Contact | undefined => {
    const [key] = keysOf(person).filter((candidate) => contactById.has(candidate));
    if (key !== undefined) return contactById.get(key);
    return persons === 1 ? onlyContactOf(contacts, person) : undefined;
  };
  return {
    complete: (person) => completeIds(person, find(person)),
    describe(person) {
      const contact = find(person);
      const { username, name } = contact?.profile ?? {};
      return {
        ...completeIds(person, contact),
        ...omitNullish({ username: textOf(username), name: textOf(name) }),
      };
    },
  };
}

function toContact(value: unknown): Contact {
  const { wa_id, user_id, profile } = asObject(value);
  return { ...personOf(wa_id, user_id), profile: asObject(profile) };
}

const ID_FIELDS = ["phone", "business_scoped_id"] as const;

const keysOf = (person: Person): string[] =>
  ID_FIELDS.filter((field) => person[field] !== undefined).map((field) => `${field} ${person[field]}`);

/** The only contact is the only person's unless an id differs. */
function onlyContactOf(contacts: readonly Contact[], person: Person): Contact | undefined {
  const [contact] = contacts;
  if (!contact || contacts.length > 1) return undefined;
  const differs = ID_FIELDS.some((field) => contact[field] !== undefined && person[field] !== undefined);
  return differs ? undefined : contact;
}

function completeIds(person: Person, contact: Contact | undefined): Fields {
  const phone = person.phone ?? contact?.phone;
  const scoped = person.business_scoped_id ?? contact?.business_scoped_id;
  const id = phone ?? scoped ?? person.id ?? contact?.id;
  return omitNullish({ id, phone, business_scoped_id: scoped });
}
