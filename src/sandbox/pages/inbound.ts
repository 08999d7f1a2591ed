import type { Lead } from "../built-in-assets.ts";
import { newNodeId, type SandboxContext } from "../context.ts";
import { invalidParameter } from "../graph/graph-error.ts";
import { toBigInt } from "../graph/json.ts";
import { ownProperty } from "../graph/params.ts";
import { contentObjectOf, type InboundMessage, type InboundSource, type Webhook } from "../webhooks.ts";
import {
  type Account,
  accountOf,
  isAccount,
  isSubscribedTo,
  webhookObjectOf,
} from "./accounts-and-subscriptions.ts";
import { addLead } from "./leads.ts";
import { newMid, rememberPhotoPerson, toMessagingWebhook } from "./messages.ts";

/** Receives messages, comments and lead forms from people for pages and photo accounts. */
export const pageInbound = (context: SandboxContext): InboundSource => ({
  hasChannel: isAccount,
  receive: (message) => receive(context, message),
});

function receive(context: SandboxContext, message: InboundMessage): Webhook | undefined {
  const { channel, from, type } = message;
  const account = accountOf(channel);
  if (!/^\d{1,32}$/.test(from)) throw invalidParameter("from must be a scoped id of at most 32 digits");
  if (account.platform === "instagram") rememberPhotoPerson(context, from);
  const given = contentObjectOf(message);
  const event = ownProperty(EVENTS[account.platform], type);
  if (event) {
    const payload = event(given);
    const isSubscribed = Object.keys(payload).some((part) =>
      isSubscribedTo(context, account, EVENT_FIELDS[account.platform][part] ?? ""),
    );
    return isSubscribed
      ? toMessagingWebhook(account, { sender: from, recipient: channel }, payload)
      : undefined;
  }
  const change = ownProperty(CHANGES[account.platform], type);
  if (!change) {
    const known = [...Object.keys(EVENTS[account.platform]), ...Object.keys(CHANGES[account.platform])];
    throw invalidParameter(`type must be one of {${known.join(", ")}}`);
  }
  const payload = change({ context, account, from, given });
  if (!isSubscribedTo(context, account, payload.field)) return undefined;
  const entry = { id: channel, time: Math.floor(Date.now() / 1000), changes: [payload] };
  return { object: webhookObjectOf(account), entry: [entry] };
}

type EventContent = Record<string, unknown>;
type EventFactory = (given: EventContent) => object;

/** Builds a message from the defaults and the given content; `mid` is generated unless given. */
function messageEvent(defaults: EventContent): EventFactory {
  return (given) => ({ message: { mid: newMid(), ...defaults, ...given } });
}

/** Builds a message with an attachment from `{ url }`; other given fields are added to the message. */
function attachmentEvent(type: string, file: string): EventFactory {
  return ({ url, ...rest }) => {
    const payload = { url: url ?? `https://example.com/${file}` };
    return { message: { mid: newMid(), attachments: [{ type, payload }], ...rest } };
  };
}

const SHARED_EVENTS: Readonly<Record<string, EventFactory>> = {
  text: messageEvent({ text: "Hello" }),
  quick_reply: messageEvent({ text: "Yes", quick_reply: { payload: "YES" } }),
  image: attachmentEvent("image", "picture.png"),
  video: attachmentEvent("video", "film.mp4"),
  audio: attachmentEvent("audio", "sound.mp4"),
  postback: (given) => ({
    postback: { mid: newMid(), title: "Get started", payload: "GET_STARTED", ...given },
  }),
  reaction: (given) => ({
    reaction: { mid: newMid(), action: "react", reaction: "love", emoji: "❤", ...given },
  }),
};

const SHARED_FIELDS = {
  message: "messages",
  postback: "messaging_postbacks",
  reaction: "message_reactions",
};

/** The subscription field of an event, by the event's key. */
const EVENT_FIELDS: Readonly<Record<Account["platform"], Readonly<Record<string, string>>>> = {
  messenger: { ...SHARED_FIELDS, read: "message_reads" },
  instagram: { ...SHARED_FIELDS, read: "messaging_seen" },
};

/** Inbound events of a conversation. Given content goes under `message`, `postback`, `reaction` or `read`. */
const EVENTS: Readonly<Record<Account["platform"], Readonly<Record<string, EventFactory>>>> = {
  messenger: {
    ...SHARED_EVENTS,
    document: attachmentEvent("file", "order.txt"),
    file: attachmentEvent("file", "order.txt"),
    read: (given) => ({ read: { watermark: Date.now(), ...given } }),
  },
  instagram: {
    ...SHARED_EVENTS,
    story_reply: messageEvent({
      text: "Nice",
      reply_to: { story: { id: "17900000000000001", url: "https://example.com/story.jpg" } },
    }),
    unsend: messageEvent({ is_deleted: true }),
    read: (given) => ({ read: { mid: newMid(), ...given } }),
  },
};

interface ChangeInput {
  context: SandboxContext;
  account: Account;
  from: string;
  given: Record<string, unknown>;
}

interface Change {
  field: string;
  value: object;
}

type Changes = Readonly<Record<string, (input: ChangeInput) => Change>>;

const LEAD_FIELDS = ["form_id", "ad_id", "field_data"];

/** Inbound events outside conversations. Given content overrides fields of the change's value. */
const CHANGES: Readonly<Record<Account["platform"], Changes>> = {
  messenger: { comment: feedComment, leadgen },
  instagram: { comment: photoComment },
};

function feedComment({ account, from, given }: ChangeInput): Change {
  const postId = `${account.id}_${newNodeId()}`;
  const value = {
    item: "comment",
    verb: "add",
    comment_id: `${postId.split("_")[1]}_${newNodeId()}`,
    post_id: postId,
    parent_id: postId,
    from: { id: from, name: "Sandbox Person" },
    message: "How much is it?",
    created_time: Math.floor(Date.now() / 1000),
    ...given,
  };
  return { field: "feed", value };
}

function photoComment({ from, given }: ChangeInput): Change {
  const value = {
    id: newNodeId(),
    text: "How much is it?",
    from: { id: from, username: "sandbox.person" },
    media: { id: newNodeId(), media_product_type: "FEED" },
    ...given,
  };
  return { field: "comments", value };
}

/** Writes ids as bare numbers, like the platform does only here. The answers must be fetched separately. */
function leadgen({ context, account, given }: ChangeInput): Change {
  const lead = addLead(context, account.id, readLeadFields(given));
  const value = {
    leadgen_id: toBigInt(lead.id),
    page_id: toBigInt(lead.page_id),
    form_id: toBigInt(lead.form_id),
    adgroup_id: toBigInt(lead.ad_id),
    ad_id: toBigInt(lead.ad_id),
    created_time: lead.created,
  };
  return { field: "leadgen", value };
}

/** Reads `{ form_id, ad_id, field_data }`; each is optional. */
function readLeadFields(given: ChangeInput["given"]): Partial<Lead> {
  const fields = Object.entries(given).filter(([name]) => LEAD_FIELDS.includes(name));
  for (const [name, value] of fields)
    if (
      name === "field_data" ? !Array.isArray(value) : !(typeof value === "string" && /^\d{1,32}$/.test(value))
    )
      throw invalidParameter(
        `content[${name}] is invalid: field_data must be an array, ids must be strings of digits`,
      );
  return Object.fromEntries(fields);
}
