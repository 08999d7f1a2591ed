import type { SandboxContext } from "../context.ts";
import { ownProperty } from "../own-property.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { storeMedia } from "./media/media.ts";
import { SAMPLE_FILES } from "./media/sample-files.ts";
import type { Person } from "./messages/recipient.ts";
import { newWamid } from "./messages/wamid.ts";

interface ContentInput {
  context: SandboxContext;
  /** The receiving number. */
  number: string;
  person: Person;
}

type Content = Record<string, unknown>;

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

/** Fields beside the content: the message replied to and the ad that was clicked. */
const SIBLING_FIELDS = ["context", "referral"];

const UNKNOWN_TYPE_ERROR = {
  code: 131051,
  title: "Message type unknown",
  message: "Message type unknown",
  error_data: { details: "Message type is currently not supported." },
};

/** Builds the type-specific fields of an inbound message. Content of a file type may be given in part. */
export function contentOf(input: ContentInput, type: string, given: unknown): Content {
  const toDefault = ownProperty(DEFAULT_CONTENT, type);
  if (!toDefault) throw invalidParameter(`type must be one of {${Object.keys(DEFAULT_CONTENT).join(", ")}}`);
  if (type === "contacts") return { contacts: Array.isArray(given) ? given : toDefault(input) };
  const { siblings, nested } = splitSiblings(asObject(given));
  const isComplete = Object.keys(nested).length > 0 && !(type in SAMPLE_FILES);
  return {
    [type]: isComplete ? nested : { ...(toDefault(input) as Content), ...nested },
    ...siblings,
    ...(type === "unsupported" ? { errors: [UNKNOWN_TYPE_ERROR] } : {}),
  };
}

function splitSiblings(content: Content): { siblings: Content; nested: Content } {
  const [siblings, nested]: [Content, Content] = [{}, {}];
  for (const [name, value] of Object.entries(content))
    (SIBLING_FIELDS.includes(name) ? siblings : nested)[name] = value;
  return { siblings, nested };
}

function asObject(given: unknown): Content {
  if (given === undefined || given === null) return {};
  if (typeof given !== "object" || Array.isArray(given)) throw invalidParameter("content must be an object");
  return given as Content;
}
