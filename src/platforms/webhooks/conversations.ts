import { asList, asObject, omitNullish, textOf } from "../client/json-values.ts";
import { type Reader, toRawContent, type Update, type UpdateContent } from "./reading.ts";
import { toStatusData, type Watermark } from "./statuses.ts";
import { parseTimestamp, toTimestamp } from "./timestamps.ts";

type Fields = Record<string, unknown>;

/** What stands around whatever happened. */
const ENVELOPE_FIELDS = ["sender", "recipient", "timestamp"];

/** An event of a conversation on a page or a photo account: its kind is the name of what stands in it. */
export const readConversation: Reader = (value, update) => {
  const event = asObject(value);
  const names = Object.keys(event).filter((name) => !ENVELOPE_FIELDS.includes(name));
  // One that we know, whatever else stands beside it.
  const kind = names.find((name) => Object.hasOwn(CONVERSATION_READERS, name));
  return kind === undefined
    ? toRawContent(update, names[0] ?? update.field)
    : (CONVERSATION_READERS[kind] as ConversationReader)(event, update);
};

type ConversationReader = (event: Fields, update: Update) => UpdateContent | "nothing" | "unknown";

const CONVERSATION_READERS: Readonly<Record<string, ConversationReader>> = {
  message(event, update) {
    const message = asObject(event.message);
    const id = textOf(message.mid);
    if (id === undefined) return "unknown";
    const type = messageTypeOf(message);
    return toReceivedMessage(event, update, {
      id,
      type,
      content: message,
      dedupKey: `message ${id} ${type}`,
    });
  },
  postback(event, update) {
    const id = textOf(asObject(event.postback).mid);
    const identity = id === undefined ? {} : { id, dedupKey: `message ${id} postback` };
    return toReceivedMessage(event, update, { type: "postback", content: event.postback, ...identity });
  },
  /** It goes by the id of the message that it is about, so only its own text makes it known. */
  reaction: (event, update) =>
    toReceivedMessage(event, update, {
      type: "reaction",
      content: event.reaction,
      id: textOf(asObject(event.reaction).mid),
    }),
  /** Of a message on the photo platform; elsewhere of all up to a time. */
  read(event, update) {
    const { mid, watermark } = asObject(event.read);
    const id = textOf(mid);
    return id === undefined ? readWatermark(event, "read", watermark) : readReceipt(event, update, id);
  },
  delivery: (event) => readWatermark(event, "delivered", asObject(event.delivery).watermark),
};

/** The platform has no word for it: a flag, the kind of the first attachment, or plain text. */
function messageTypeOf(message: Fields): string {
  if (message.is_deleted === true) return "deleted";
  if (message.is_echo === true) return "echo";
  return textOf(asObject(asList(message.attachments)[0]).type) ?? "text";
}

interface ReceivedMessage {
  type: string;
  content: unknown;
  id?: string | undefined;
  dedupKey?: string;
}

function toReceivedMessage(
  event: Fields,
  update: Update,
  { type, content, id, dedupKey }: ReceivedMessage,
): UpdateContent {
  const at = parseTimestamp(event.timestamp) ?? update.time;
  const data = {
    ...omitNullish({ platform_message_id: id }),
    from: omitNullish({ id: senderIdOf(event) }),
    type,
    content: content ?? null,
    ...omitNullish({ context: replyContextOf(content), at: toTimestamp(at) }),
  };
  return { type: "message.received", data, at, dedupKey: dedupKey ?? update.source.text };
}

/** A message, or a story. */
function replyContextOf(content: unknown): Fields | undefined {
  const { mid, story } = asObject(asObject(content).reply_to);
  const context = omitNullish({ message_id: textOf(mid), story });
  return Object.keys(context).length === 0 ? undefined : context;
}

const senderIdOf = ({ sender }: Fields) => textOf(asObject(sender).id);

function readReceipt(event: Fields, update: Update, id: string): UpdateContent {
  const at = parseTimestamp(event.timestamp) ?? update.time;
  const status = { platformMessageId: id, word: "read" };
  const data = toStatusData({ ...status, at, recipient: senderIdOf(event) });
  return { type: "message.status", data, at, dedupKey: `status ${id} read`, status };
}

/** Says something of messages of ours only: nobody else can know which are meant. */
function readWatermark(event: Fields, word: Watermark["word"], time: unknown): UpdateContent | "nothing" {
  const [until, person] = [parseTimestamp(time), senderIdOf(event)];
  if (until === undefined || person === undefined) return "nothing";
  const at = parseTimestamp(event.timestamp) ?? until;
  const data = toStatusData({ platformMessageId: null, word, at, recipient: person });
  return { type: "message.status", data, at, watermark: { word, person, until } };
}
