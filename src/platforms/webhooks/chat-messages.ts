import { JsonText } from "../../runtime/json/json.ts";
import type { JsonSource } from "../../runtime/json/json-source.ts";
import { asList, asObject, omitNullish, textOf } from "../client/json-values.ts";
import type { Reader, UpdateContent } from "./reading.ts";
import { firstErrorOf, toStatusData } from "./statuses.ts";
import { parseTimestamp, toTimestamp } from "./timestamps.ts";

type Fields = Record<string, unknown>;

/** Reads an inbound message. `contacts` is the list next to the messages that has the senders' names. */
export const messageReader =
  (contacts: unknown): Reader =>
  (value, { time }) => {
    const message = asObject(value);
    const id = textOf(message.id);
    if (id === undefined) return "unknown";
    const type = textOf(message.type) ?? "unsupported";
    const at = parseTimestamp(message.timestamp) ?? time;
    const data = {
      platform_message_id: id,
      from: senderOf(message, contacts),
      type,
      content: Object.hasOwn(message, type) ? message[type] : null,
      ...omitNullish({ context: contextOf(message.context), at: toTimestamp(at) }),
    };
    // The key includes the type: an edit or a revocation may carry the id of the original message.
    return { type: "message.received", data, at, dedupKey: `message ${id} ${type}` };
  };

/** The phone number, the scoped id and the name can each be missing. */
function senderOf(message: Fields, contacts: unknown): Fields {
  const knownContacts = asList(contacts).map(asObject);
  const [number, scoped] = [textOf(message.from), textOf(message.from_user_id)];
  const contact =
    knownContacts.find(({ wa_id, user_id }) => matchesId(wa_id, number) || matchesId(user_id, scoped)) ??
    knownContacts.find(
      ({ wa_id, user_id }) =>
        knownContacts.length === 1 && !differsFromId(wa_id, number) && !differsFromId(user_id, scoped),
    );
  const phone = number ?? textOf(contact?.wa_id);
  const scopedId = scoped ?? textOf(contact?.user_id);
  return omitNullish({
    id: phone ?? scopedId,
    phone,
    business_scoped_id: scopedId,
    name: textOf(asObject(contact?.profile).name),
  });
}

const matchesId = (value: unknown, id: string | undefined) => id !== undefined && textOf(value) === id;

const differsFromId = (value: unknown, id: string | undefined) =>
  id !== undefined && textOf(value) !== undefined && textOf(value) !== id;

function contextOf(value: unknown): Fields | undefined {
  const context = asObject(value);
  return Object.keys(context).length === 0
    ? undefined
    : { ...context, ...omitNullish({ message_id: textOf(context.id) }) };
}

/** Reads a message status. `errors` and `pricing` are forwarded as raw JSON because their content is arbitrary. */
export const readStatus: Reader = (value, { time, source }): UpdateContent | "unknown" => {
  const fields = asObject(value);
  const [id, word] = [textOf(fields.id), textOf(fields.status)];
  if (id === undefined || word === undefined) return "unknown";
  const at = parseTimestamp(fields.timestamp) ?? time;
  const data = toStatusData({
    platformMessageId: id,
    word,
    at,
    recipient: textOf(fields.recipient_id) ?? textOf(fields.recipient_user_id),
    errors: Array.isArray(fields.errors) ? rawField(source, "errors") : undefined,
    pricing: fields.pricing === null ? undefined : rawField(source, "pricing"),
  });
  const status = {
    platformMessageId: id,
    word,
    callback: textOf(fields.biz_opaque_callback_data),
    error: firstErrorOf(fields.errors),
  };
  return { type: "message.status", data, at, dedupKey: `status ${id} ${word}`, status };
};

function rawField(source: JsonSource, name: string): JsonText | undefined {
  const field = source.field(name);
  return field && new JsonText(field.text);
}
