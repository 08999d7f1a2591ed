import { type GraphError, invalidParameter } from "../graph/graph-error.ts";
import { Params } from "../graph/params.ts";
import type { Account } from "./accounts-and-subscriptions.ts";

const MESSAGING_TYPES = ["RESPONSE", "UPDATE", "MESSAGE_TAG", "UTILITY"];
const NOTIFICATION_TYPES = ["REGULAR", "SILENT_PUSH", "NO_PUSH"];
const ACTIONS = ["typing_on", "typing_off", "mark_seen", "react", "unreact"];
/** The platform no longer supports other tags. */
const TAGS = ["HUMAN_AGENT"];
const MAX_QUICK_REPLIES = 13;

const PLATFORM_LIMITS = {
  messenger: {
    attachments: ["image", "audio", "video", "file", "template"],
    isWithinLimit: (text: string) => text.length <= 2000,
    limit: "2000 characters",
  },
  instagram: {
    attachments: ["image", "audio", "video", "template"],
    isWithinLimit: (text: string) => Buffer.byteLength(text) <= 1000,
    limit: "1000 bytes",
  },
} as const;

const toParams = (values: Record<string, unknown>) => new Params(new Map(Object.entries(values)));

function checkOneOf(params: Params, name: string, words: readonly string[]): void {
  const given = params.text(name);
  if (given !== undefined && !words.includes(given))
    throw invalidParameter(`Param ${name} must be one of {${words.join(", ")}}`);
}

/** Checks the message's type, notification type, tag and reply target. */
export function checkSendOptions(params: Params, { platform }: Account): void {
  checkOneOf(params, "messaging_type", MESSAGING_TYPES);
  checkOneOf(params, "notification_type", NOTIFICATION_TYPES);
  checkOneOf(params, "tag", TAGS);
  const type = params.text("messaging_type");
  if (type === "MESSAGE_TAG") params.requiredText("tag");
  const replyTo = params.object("reply_to");
  if (replyTo) toParams(replyTo).requiredText("mid");
  if (type === "UTILITY" && platform === "instagram")
    throw invalidParameter("Param messaging_type UTILITY is not supported on Instagram");
}

/** Reads the recipient: a person by scoped id, or the author of a comment. */
export function readRecipient(params: Params): { id: string } | { comment: string } {
  const recipient = params.object("recipient");
  if (!recipient) throw invalidParameter("The parameter recipient is required.");
  const [id, comment] = [toParams(recipient).text("id"), toParams(recipient).text("comment_id")];
  if (id !== undefined && /^\d{1,32}$/.test(id)) return { id };
  if (id === undefined && comment !== undefined && /^\d+(_\d+)?$/.test(comment)) return { comment };
  throw invalidParameter("Param recipient must have an id or a comment_id of digits");
}

/** Checks a sender action, such as typing, which is sent in place of a message. */
export function checkAction(params: Params): void {
  const action = params.requiredText("sender_action").toLowerCase();
  if (!ACTIONS.includes(action))
    throw invalidParameter(`Param sender_action must be one of {${ACTIONS.join(", ")}}`);
  if (!["react", "unreact"].includes(action)) return;
  const payload = toParams(params.object("payload") ?? {});
  payload.requiredText("message_id");
  if (action === "react") payload.requiredText("reaction");
}

export interface Content {
  text?: string;
  attachments?: unknown[];
}

/** Reads a text or an attachment; the echo repeats it. */
export function readContent(given: Record<string, unknown>, account: Account): Content {
  const message = toParams(given);
  const [text, attachment] = [message.text("text"), message.object("attachment")];
  if ((text === undefined) === (attachment === undefined))
    throw invalidParameter("Param message must have a text or an attachment, and not both");
  if ((message.list("quick_replies") ?? []).length > MAX_QUICK_REPLIES)
    throw invalidParameter(`Param message[quick_replies] must have at most ${MAX_QUICK_REPLIES} items`);
  return text === undefined
    ? { attachments: [readAttachment(toParams(attachment ?? {}), account)] }
    : { text: readText(text, account) };
}

function readText(text: string, { platform }: Account): string {
  const { isWithinLimit, limit } = PLATFORM_LIMITS[platform];
  if (text === "" || !isWithinLimit(text))
    throw invalidParameter(`Length of param message[text] must be less than or equal to ${limit}`);
  return text;
}

function readAttachment(attachment: Params, { platform }: Account): unknown {
  const type = attachment.requiredText("type");
  const payload = attachment.object("payload") ?? {};
  if (!(PLATFORM_LIMITS[platform].attachments as readonly string[]).includes(type))
    throw wrongAttachment(type);
  if (type === "template") return { type, payload };
  const [url, id] = [toParams(payload).text("url"), toParams(payload).text("attachment_id")];
  if ((url === undefined) === (id === undefined))
    throw invalidParameter("Param message[attachment][payload] must have a url or an attachment_id");
  if (url !== undefined && !/^https?:\/\//.test(url))
    throw invalidParameter("Param message[attachment][payload][url] should represent a valid URL");
  return { type, payload: url === undefined ? { attachment_id: id } : { url } };
}

const wrongAttachment = (type: string): GraphError =>
  invalidParameter(`The attachment type ${type} is not supported by this account`, {
    subcode: 2018047,
  });
