import { asList, asObject, type Fields, lookUp, nonEmptyObject, omitNullish, textOf } from "../bodies.ts";
import {
  findTimestamp,
  parseTimestamp,
  type Reader,
  toRawContent,
  toStatusData,
  toTimestamp,
  type Update,
  type UpdateContent,
  type Watermark,
} from "./updates.ts";

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

const COMMENT_TYPES: Readonly<Record<string, UpdateContent["type"]>> = {
  add: "comment.created",
  edited: "comment.updated",
  edit: "comment.updated",
  hide: "comment.updated",
  unhide: "comment.updated",
  remove: "comment.deleted",
};

const POST_ITEMS = ["post", "photo", "video", "share", "status"];

/** Readers for posts, comments, mentions and leads, by field name. */
export const PUBLICATIONS: Readonly<Record<string, Reader>> = {
  feed: readFeed,
  comments: readPhotoComment,
  live_comments: readPhotoComment,
  mentions: readPhotoMention,
  mention: readPageMention,
  leadgen: readLead,
};

function readFeed(rawValue: unknown, update: Update): ReturnType<Reader> {
  const value = asObject(rawValue);
  const [item, verb] = [textOf(value.item) ?? "", textOf(value.verb) ?? ""];
  const type =
    item === "comment" ? lookUp(COMMENT_TYPES, verb) : POST_ITEMS.includes(item) ? "post.updated" : undefined;
  const id = textOf(item === "comment" ? value.comment_id : value.post_id);
  if (type === undefined || id === undefined) return "unknown";
  if (item === "comment" && isByOwnAsset(value, update)) return "nothing";
  const created = parseTimestamp(value.created_time);
  // Changes use the webhook's time, because an old comment may be edited today.
  const at = verb === "add" ? (created ?? update.time) : (update.time ?? created);
  const [parent, post] = [textOf(value.parent_id), textOf(value.post_id)];
  const found = toPublicationContent(type, {
    id,
    verb,
    at,
    value,
    parent: parent === post ? undefined : parent,
    post,
  });
  return item === "comment" ? withDedupKey(found, id, verb) : found;
}

function readPhotoComment(rawValue: unknown, update: Update): ReturnType<Reader> {
  const value = asObject(rawValue);
  const id = textOf(value.id);
  if (id === undefined) return "unknown";
  if (isByOwnAsset(value, update)) return "nothing";
  const [parent, post] = [textOf(value.parent_id), textOf(asObject(value.media).id)];
  const found = toPublicationContent("comment.created", {
    id,
    verb: "add",
    at: findTimestamp(value) ?? update.time,
    value,
    parent,
    post,
  });
  return withDedupKey(found, id, "add");
}

function readPhotoMention(rawValue: unknown): ReturnType<Reader> {
  const value = asObject(rawValue);
  const [comment, post] = [textOf(value.comment_id), textOf(value.media_id)];
  const id = comment ?? post;
  if (id === undefined) return "unknown";
  return toPublicationContent("mention.created", { id, verb: "add", value, post });
}

/** The page is mentioned in a post or in a comment on it. */
function readPageMention(rawValue: unknown): ReturnType<Reader> {
  const value = asObject(rawValue);
  const [comment, post] = [textOf(value.comment_id), textOf(value.post_id)];
  const id = comment ?? post;
  if (id === undefined) return "unknown";
  const sender = omitNullish({ id: textOf(value.sender_id), name: textOf(value.sender_name) });
  const from = value.from ?? nonEmptyObject(sender);
  const verb = textOf(value.verb) ?? "add";
  return toPublicationContent("mention.created", { id, verb, value: { ...value, from }, post });
}

/** True for the asset's own comments, which the platform also sends. */
const isByOwnAsset = ({ from }: Fields, { asset }: Update) => idOf(from) === asset.id;

interface Publication {
  id: string;
  verb: string;
  at?: Date | undefined;
  value: Fields;
  parent?: string | undefined;
  post: string | undefined;
}

function toPublicationContent(
  type: UpdateContent["type"],
  { id, verb, at, value, parent, post }: Publication,
): UpdateContent {
  const text = textOf(value.message) ?? textOf(value.text);
  const rest = { parent_id: parent, post_id: post, from: value.from, text, verb };
  return { type, data: { id, ...omitNullish(rest) }, at };
}

/** A comment event is identified by comment id, verb and time. */
const withDedupKey = (found: UpdateContent, id: string, verb: string): UpdateContent => ({
  ...found,
  dedupKey: ["comment", id, verb, found.at?.getTime()].join(" "),
});

/** The platform sends the id 0 for a lead without an ad. */
const isAdId = (id: string | undefined) => id !== undefined && id !== "0";

/** The webhook has only ids; the form data must be fetched. */
function readLead(rawValue: unknown): UpdateContent | "unknown" {
  const value = asObject(rawValue);
  const id = textOf(value.leadgen_id);
  if (id === undefined) return "unknown";
  const at = parseTimestamp(value.created_time);
  const rest = {
    form_id: textOf(value.form_id),
    ad_id: [value.ad_id, value.adgroup_id].map(textOf).find(isAdId),
    page_id: textOf(value.page_id),
    created_at: toTimestamp(at),
  };
  const data = { lead_id: id, ...omitNullish(rest) };
  return { type: "lead.created", key: "marketing", data, at, dedupKey: `lead ${id}` };
}
