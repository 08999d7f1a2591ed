import { JsonText } from "../../runtime/json/json.ts";
import type { JsonSource } from "../../runtime/json/json-source.ts";
import { asList, asObject, present, textOf } from "../client/shapes.ts";
import { momentOf, toMoment } from "./moments.ts";
import type { Finding, Reader } from "./reading.ts";
import { errorIn, statusData } from "./statuses.ts";

type Fields = Record<string, unknown>;

/** Somebody wrote. `contacts` stand beside the messages and know their writers' names. */
export const messageReader =
  (contacts: unknown): Reader =>
  (value, { time }) => {
    const message = asObject(value);
    const id = textOf(message.id);
    if (id === undefined) return "unknown";
    const type = textOf(message.type) ?? "unsupported";
    const at = momentOf(message.timestamp) ?? time;
    const data = {
      platform_message_id: id,
      from: senderOf(message, contacts),
      type,
      content: Object.hasOwn(message, type) ? message[type] : null,
      ...present({ context: contextOf(message.context), at: toMoment(at) }),
    };
    // Its type too: an edit or a revocation may go by the id of what it changes.
    return { type: "message.received", data, at, knownBy: `message ${id} ${type}` };
  };

/** Number and scoped id may each be missing, and the name always. */
function senderOf(message: Fields, contacts: unknown): Fields {
  const known = asList(contacts).map(asObject);
  const [number, scoped] = [textOf(message.from), textOf(message.from_user_id)];
  const contact =
    known.find(({ wa_id, user_id }) => isSame(wa_id, number) || isSame(user_id, scoped)) ??
    known.find(
      ({ wa_id, user_id }) => known.length === 1 && !isOther(wa_id, number) && !isOther(user_id, scoped),
    );
  const phone = number ?? textOf(contact?.wa_id);
  const scopedId = scoped ?? textOf(contact?.user_id);
  return present({
    id: phone ?? scopedId,
    phone,
    business_scoped_id: scopedId,
    name: textOf(asObject(contact?.profile).name),
  });
}

const isSame = (value: unknown, id: string | undefined) => id !== undefined && textOf(value) === id;

const isOther = (value: unknown, id: string | undefined) =>
  id !== undefined && textOf(value) !== undefined && textOf(value) !== id;

function contextOf(value: unknown): Fields | undefined {
  const context = asObject(value);
  return Object.keys(context).length === 0
    ? undefined
    : { ...context, ...present({ message_id: textOf(context.id) }) };
}

/** How far a message has come. Nested in it may be whatever the platform likes, so that is passed on as it was written. */
export const readStatus: Reader = (value, { time, source }): Finding | "unknown" => {
  const given = asObject(value);
  const [id, word] = [textOf(given.id), textOf(given.status)];
  if (id === undefined || word === undefined) return "unknown";
  const at = momentOf(given.timestamp) ?? time;
  const data = statusData({
    platformMessageId: id,
    word,
    at,
    recipient: textOf(given.recipient_id) ?? textOf(given.recipient_user_id),
    errors: Array.isArray(given.errors) ? asWritten(source, "errors") : undefined,
    pricing: given.pricing === null ? undefined : asWritten(source, "pricing"),
  });
  const status = {
    platformMessageId: id,
    word,
    callback: textOf(given.biz_opaque_callback_data),
    error: errorIn(given.errors),
  };
  return { type: "message.status", data, at, knownBy: `status ${id} ${word}`, status };
};

function asWritten(source: JsonSource, name: string): JsonText | undefined {
  const field = source.field(name);
  return field && new JsonText(field.text);
}
