import { asList, asObject, present, textOf } from "../client/shapes.ts";
import { momentOf, toMoment } from "./moments.ts";
import { type Finding, type Reader, type Update, untold } from "./reading.ts";
import { statusData, type Watermark } from "./statuses.ts";

type Fields = Record<string, unknown>;

/** What stands around whatever happened. */
const ENVELOPE = ["sender", "recipient", "timestamp"];

/** An event of a conversation on a page or a photo account: its kind is the name of what stands in it. */
export const readConversation: Reader = (value, update) => {
  const event = asObject(value);
  const names = Object.keys(event).filter((name) => !ENVELOPE.includes(name));
  // One that we know, whatever else stands beside it.
  const known = names.find((name) => Object.hasOwn(KINDS, name));
  return known === undefined
    ? untold(update, names[0] ?? update.field)
    : (KINDS[known] as Kind)(event, update);
};

type Kind = (event: Fields, update: Update) => Finding | "nothing" | "unknown";

const KINDS: Readonly<Record<string, Kind>> = {
  message(event, update) {
    const message = asObject(event.message);
    const id = textOf(message.mid);
    if (id === undefined) return "unknown";
    const type = typeOf(message);
    return received(event, update, { id, type, content: message, knownBy: `message ${id} ${type}` });
  },
  postback(event, update) {
    const id = textOf(asObject(event.postback).mid);
    const known = id === undefined ? {} : { id, knownBy: `message ${id} postback` };
    return received(event, update, { type: "postback", content: event.postback, ...known });
  },
  /** It goes by the id of the message that it is about, so only its own text makes it known. */
  reaction: (event, update) =>
    received(event, update, {
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
function typeOf(message: Fields): string {
  if (message.is_deleted === true) return "deleted";
  if (message.is_echo === true) return "echo";
  return textOf(asObject(asList(message.attachments)[0]).type) ?? "text";
}

interface Received {
  type: string;
  content: unknown;
  id?: string | undefined;
  knownBy?: string;
}

function received(event: Fields, update: Update, { type, content, id, knownBy }: Received): Finding {
  const at = momentOf(event.timestamp) ?? update.time;
  const data = {
    ...present({ platform_message_id: id }),
    from: present({ id: personIn(event) }),
    type,
    content: content ?? null,
    ...present({ context: repliedTo(content), at: toMoment(at) }),
  };
  return { type: "message.received", data, at, knownBy: knownBy ?? update.source.text };
}

/** A message, or a story. */
function repliedTo(content: unknown): Fields | undefined {
  const { mid, story } = asObject(asObject(content).reply_to);
  const context = present({ message_id: textOf(mid), story });
  return Object.keys(context).length === 0 ? undefined : context;
}

const personIn = ({ sender }: Fields) => textOf(asObject(sender).id);

function readReceipt(event: Fields, update: Update, id: string): Finding {
  const at = momentOf(event.timestamp) ?? update.time;
  const status = { platformMessageId: id, word: "read" };
  const data = statusData({ ...status, at, recipient: personIn(event) });
  return { type: "message.status", data, at, knownBy: `status ${id} read`, status };
}

/** Says something of messages of ours only: nobody else can know which are meant. */
function readWatermark(event: Fields, word: Watermark["word"], time: unknown): Finding | "nothing" {
  const [until, person] = [momentOf(time), personIn(event)];
  if (until === undefined || person === undefined) return "nothing";
  const at = momentOf(event.timestamp) ?? until;
  const data = statusData({ platformMessageId: null, word, at, recipient: person });
  return { type: "message.status", data, at, watermark: { word, person, until } };
}
