import { asList, asObject, nonEmptyObject, omitNullish, textOf } from "../client/json-values.ts";
import { type Reader, toRawContent, type Update, type UpdateContent } from "./reading.ts";
import { toStatusData, type Watermark } from "./statuses.ts";
import { parseTimestamp } from "./timestamps.ts";

type Fields = Record<string, unknown>;

/** Fields that every conversation event has. */
const ENVELOPE_FIELDS = ["sender", "recipient", "timestamp"];

/** Fields of `changes` whose value is a conversation event. */
export const CONVERSATION_FIELDS = [
  "messages",
  "messaging_postbacks",
  "messaging_seen",
  "messaging_referral",
  "messaging_referrals",
  "messaging_optins",
  "messaging_handover",
  "messaging_handovers",
  "message_deliveries",
  "message_reads",
  "message_echoes",
  "message_reactions",
  "message_edit",
  "message_edits",
];

/** Reads a conversation event of a page or photo account; its kind is the name of its content field. */
export const readConversation: Reader = (value, update) => {
  const event = asObject(value);
  const names = Object.keys(event).filter((name) => !ENVELOPE_FIELDS.includes(name));
  // Prefers a known kind when several fields are present.
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
  /** Has no dedupKey: `mid` is the id of the message reacted to, so only the full text identifies the reaction. */
  reaction: (event, update) =>
    toReceivedMessage(event, update, {
      type: "reaction",
      content: event.reaction,
      id: textOf(asObject(event.reaction).mid),
    }),
  /** The photo platform reports one message; the social platform reports all messages up to a time. */
  read(event, update) {
    const { mid, watermark } = asObject(event.read);
    const id = textOf(mid);
    return id === undefined ? readWatermark(event, "read", watermark) : readReceipt(event, update, id);
  },
  delivery: (event) => readWatermark(event, "delivered", asObject(event.delivery).watermark),
};

/** The platform sends no type: it is a flag, the first attachment's type, or text. */
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
  const fields = asObject(content);
  const data = {
    ...omitNullish({ platform_message_id: id }),
    from: omitNullish({ id: idOf(event.sender) }),
    ...omitNullish({ to: fields.is_echo === true ? idOf(event.recipient) : undefined }),
    type,
    content: content ?? null,
    ...omitNullish({
      context: replyContextOf(fields),
      referral: nonEmptyObject(fields.referral) ?? nonEmptyObject(event.referral),
    }),
  };
  const at = parseTimestamp(event.timestamp) ?? update.time;
  return { type: "message.received", data, at, dedupKey: dedupKey ?? update.source.text };
}

/** A reply refers to a message or a story. */
function replyContextOf(content: Fields): Fields | undefined {
  const { mid, story } = asObject(content.reply_to);
  return nonEmptyObject(omitNullish({ message_id: textOf(mid), story }));
}

const idOf = (party: unknown) => textOf(asObject(party).id);

function readReceipt(event: Fields, update: Update, id: string): UpdateContent {
  const at = parseTimestamp(event.timestamp) ?? update.time;
  const status = { platformMessageId: id, word: "read" };
  const data = toStatusData({ ...status, recipient: idOf(event.sender) });
  return { type: "message.status", data, at, dedupKey: `status ${id} read`, status };
}

/** The webhook names no messages; only Herald's own sends can be matched to the watermark. */
function readWatermark(event: Fields, word: Watermark["word"], time: unknown): UpdateContent | "nothing" {
  const [until, person] = [parseTimestamp(time), idOf(event.sender)];
  if (until === undefined || person === undefined) return "nothing";
  const at = parseTimestamp(event.timestamp) ?? until;
  const data = toStatusData({ platformMessageId: null, word, recipient: person });
  return { type: "message.status", data, at, watermark: { word, person, until } };
}
