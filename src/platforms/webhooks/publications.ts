import { asObject, lookUp, nonEmptyObject, omitNullish, textOf } from "../client/json-values.ts";
import type { Reader, Update, UpdateContent } from "./reading.ts";
import { findTimestamp, parseTimestamp, toTimestamp } from "./timestamps.ts";

type Fields = Record<string, unknown>;

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
const isByOwnAsset = ({ from }: Fields, { asset }: Update) => textOf(asObject(from).id) === asset.id;

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
