import { asList, asObject, omitNullish, textOf } from "../client/json-values.ts";
import { isBusinessScopedId } from "../recipients.ts";

type Fields = Record<string, unknown>;

/** A person at the chat platform; every id can be missing. */
export interface Person {
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
