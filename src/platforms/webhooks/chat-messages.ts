import { asObject, isListOfObjects, nonEmptyObject, omitNullish, textOf } from "../client/json-values.ts";
import { type Contacts, personOf } from "./people.ts";
import type { Reader } from "./reading.ts";
import { parseTimestamp } from "./timestamps.ts";

type Fields = Record<string, unknown>;

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
