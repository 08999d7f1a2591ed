import { asObject, lookUp, present, textOf } from "../client/shapes.ts";
import { momentOf, toMoment } from "./moments.ts";
import type { Finding, Reader, Update } from "./reading.ts";

type Fields = Record<string, unknown>;

const COMMENT_TYPES: Readonly<Record<string, Finding["type"]>> = {
  add: "comment.created",
  edited: "comment.updated",
  edit: "comment.updated",
  hide: "comment.updated",
  unhide: "comment.updated",
  remove: "comment.deleted",
};

const POSTS = ["post", "photo", "video", "share", "status"];

/** What happens on a page or under the posts of a photo account, by the name of the field. */
export const PUBLICATIONS: Readonly<Record<string, Reader>> = {
  feed: readFeed,
  comments: readPhotoComment,
  live_comments: readPhotoComment,
  mentions: readMention,
  leadgen: readLead,
};

function readFeed(given: unknown, update: Update): ReturnType<Reader> {
  const value = asObject(given);
  const [item, verb] = [textOf(value.item) ?? "", textOf(value.verb) ?? ""];
  const type =
    item === "comment" ? lookUp(COMMENT_TYPES, verb) : POSTS.includes(item) ? "post.updated" : undefined;
  const id = textOf(item === "comment" ? value.comment_id : value.post_id);
  if (type === undefined || id === undefined) return "unknown";
  if (item === "comment" && isOwn(value, update)) return "nothing";
  const created = momentOf(value.created_time);
  // An old comment may be edited today.
  const at = verb === "add" ? (created ?? update.time) : (update.time ?? created);
  const [parent, post] = [textOf(value.parent_id), textOf(value.post_id)];
  const found = published(type, { id, verb, at, value, parent: parent === post ? undefined : parent, post });
  return item === "comment" ? known(found, id, verb) : found;
}

function readPhotoComment(given: unknown, update: Update): ReturnType<Reader> {
  const value = asObject(given);
  const id = textOf(value.id);
  if (id === undefined) return "unknown";
  if (isOwn(value, update)) return "nothing";
  const [parent, post] = [textOf(value.parent_id), textOf(asObject(value.media).id)];
  const found = published("comment.created", { id, verb: "add", at: update.time, value, parent, post });
  return known(found, id, "add");
}

function readMention(given: unknown, { time: at }: Update): ReturnType<Reader> {
  const value = asObject(given);
  const [comment, post] = [textOf(value.comment_id), textOf(value.media_id)];
  const id = comment ?? post;
  if (id === undefined) return "unknown";
  return published("mention.created", { id, verb: "add", at, value, parent: undefined, post });
}

/** What the page itself answers comes back too. */
const isOwn = ({ from }: Fields, { asset }: Update) => textOf(asObject(from).id) === asset.id;

interface Publication {
  id: string;
  verb: string;
  at: Date | undefined;
  value: Fields;
  parent: string | undefined;
  post: string | undefined;
}

function published(type: Finding["type"], { id, verb, at, value, parent, post }: Publication): Finding {
  const text = textOf(value.message) ?? textOf(value.text);
  const rest = { parent_id: parent, post_id: post, from: value.from, text, verb, at: toMoment(at) };
  return { type, data: { id, ...present(rest) }, at };
}

/** A comment is known by its id, what was done to it, and when. */
const known = (found: Finding, id: string, verb: string): Finding => ({
  ...found,
  knownBy: ["comment", id, verb, found.at?.getTime()].join(" "),
});

/** What the person wrote into the form has to be fetched. */
function readLead(given: unknown): Finding | "unknown" {
  const value = asObject(given);
  const id = textOf(value.leadgen_id);
  if (id === undefined) return "unknown";
  const at = momentOf(value.created_time);
  const rest = {
    form_id: textOf(value.form_id),
    ad_id: textOf(value.ad_id ?? value.adgroup_id),
    page_id: textOf(value.page_id),
    created_at: toMoment(at),
  };
  const data = { lead_id: id, ...present(rest) };
  return { type: "lead.created", key: "marketing", data, at, knownBy: `lead ${id}` };
}
