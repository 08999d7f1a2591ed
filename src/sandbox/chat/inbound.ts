import type { SandboxContext } from "../context.ts";
import { invalidParameter } from "../graph/graph-error.ts";
import { ownProperty } from "../graph/params.ts";
import { contentObjectOf, type InboundMessage, type InboundSource, type Webhook } from "../webhooks.ts";
import { storeMedia } from "./media.ts";
import { isPhoneNumberId, metadataOf, senderOf } from "./numbers.ts";
import {
  contactOf,
  newWamid,
  type Person,
  personByPhone,
  personByScopedId,
} from "./people-and-message-ids.ts";

/** Receives messages from people to phone numbers. */
export const chatInbound = (context: SandboxContext): InboundSource => ({
  hasChannel: isPhoneNumberId,
  receive: (message) => receive(context, message),
});

function receive(context: SandboxContext, { channel, from, type, content }: InboundMessage): Webhook {
  const receiver = senderOf(channel);
  const person = readPerson(from);
  const message = {
    ...(person.waId === undefined ? {} : { from: person.waId }),
    from_user_id: person.userId,
    id: newWamid("in", channel),
    timestamp: String(Math.floor(Date.now() / 1000)),
    type,
    ...contentOf({ context, number: channel, person }, type, content),
  };
  const value = {
    messaging_product: "whatsapp",
    metadata: metadataOf(receiver),
    contacts: [contactOf(person)],
    messages: [message],
  };
  return {
    object: "whatsapp_business_account",
    entry: [{ id: receiver.waba.id, changes: [{ field: "messages", value }] }],
  };
}

/** Keeps the number unchanged: the sandbox treats a sender's number as the one that the platform knows. */
function readPerson(from: string): Person {
  const person = personByPhone(from, (digits) => digits) ?? personByScopedId(from);
  if (!person) throw invalidParameter("from must be a phone number or a business-scoped id");
  return person;
}

interface ContentInput {
  context: SandboxContext;
  /** The receiving number. */
  number: string;
  person: Person;
}

type Content = Record<string, unknown>;

/** Builds the type-specific fields of an inbound message. Content of a file type may be given in part. */
function contentOf(input: ContentInput, type: string, given: unknown): Content {
  const toDefault = ownProperty(DEFAULT_CONTENT, type);
  if (!toDefault) throw invalidParameter(`type must be one of {${Object.keys(DEFAULT_CONTENT).join(", ")}}`);
  if (type === "contacts") return { contacts: Array.isArray(given) ? given : toDefault(input) };
  const { siblings, nested } = splitSiblings(contentObjectOf({ content: given }));
  const isComplete = Object.keys(nested).length > 0 && !(type in SAMPLE_FILES);
  return {
    [type]: isComplete ? nested : { ...(toDefault(input) as Content), ...nested },
    ...siblings,
    ...(type === "unsupported" ? { errors: [UNKNOWN_TYPE_ERROR] } : {}),
  };
}

/** Fields beside the content: the message replied to and the ad that was clicked. */
const SIBLING_FIELDS = ["context", "referral"];

const UNKNOWN_TYPE_ERROR = {
  code: 131051,
  title: "Message type unknown",
  message: "Message type unknown",
  error_data: { details: "Message type is currently not supported." },
};

function splitSiblings(content: Content): { siblings: Content; nested: Content } {
  const [siblings, nested]: [Content, Content] = [{}, {}];
  for (const [name, value] of Object.entries(content))
    (SIBLING_FIELDS.includes(name) ? siblings : nested)[name] = value;
  return { siblings, nested };
}

/** Generated content per message type, used when none or only part of it is given. */
const DEFAULT_CONTENT: Readonly<Record<string, (input: ContentInput) => unknown>> = {
  text: () => ({ body: "Hello" }),
  image: sampleFile("image"),
  video: sampleFile("video"),
  audio: sampleFile("audio"),
  document: sampleFile("document"),
  sticker: sampleFile("sticker"),
  location: () => ({ latitude: -23.5613, longitude: -46.6565, name: "Avenida Paulista" }),
  contacts: () => [{ name: { formatted_name: "Ana Souza", first_name: "Ana" }, phones: [] }],
  button: () => ({ payload: "STOP", text: "Stop" }),
  interactive: () => ({ type: "button_reply", button_reply: { id: "yes", title: "Yes" } }),
  order: () => ({
    catalog_id: "1100000000000601",
    text: "Please wrap it",
    product_items: [{ product_retailer_id: "coffee-1", quantity: 2, item_price: 25.5, currency: "BRL" }],
  }),
  reaction: ({ number }) => ({ message_id: newWamid("out", number), emoji: "👍" }),
  system: ({ person }) => ({
    body: "User changed their number",
    type: "user_changed_number",
    wa_id: "16505559999",
    user_id: person.userId,
  }),
  unsupported: () => ({ type: "unknown" }),
  edit: ({ number }) => ({
    original_message_id: newWamid("in", number),
    message: { type: "text", text: { body: "Hello again" } },
  }),
  revoke: ({ number }) => ({ original_message_id: newWamid("in", number) }),
};

function sampleFile(type: keyof typeof SAMPLE_FILES): (input: ContentInput) => unknown {
  return ({ context, number }) => {
    const { mimeType, bytes, extras } = SAMPLE_FILES[type];
    const { id, sha256 } = storeMedia(context, { number, mimeType, bytes });
    return { id, mime_type: mimeType, sha256, ...extras };
  };
}

interface SampleFile {
  mimeType: string;
  bytes: Buffer;
  /** Further fields of a message with this file. */
  extras: Record<string, unknown>;
}

const fromBase64 = (text: string) => Buffer.from(text, "base64");

/** Sample files of inbound messages: small, but valid enough for a reader of their first bytes. */
const SAMPLE_FILES = {
  image: {
    mimeType: "image/png",
    bytes: fromBase64(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    ),
    extras: {},
  },
  video: {
    mimeType: "video/mp4",
    bytes: fromBase64("AAAAGGZ0eXBtcDQyAAAAAG1wNDJpc29tAAAACG1kYXQ="),
    extras: {},
  },
  audio: { mimeType: "audio/ogg", bytes: Buffer.from("OggS sandbox"), extras: { voice: false } },
  document: {
    mimeType: "text/plain",
    bytes: Buffer.from("Two coffees, please.\n"),
    extras: { filename: "order.txt" },
  },
  sticker: {
    mimeType: "image/webp",
    bytes: fromBase64("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"),
    extras: { animated: false },
  },
} as const satisfies Record<string, SampleFile>;
