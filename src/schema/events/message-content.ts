import { knownOrOther, oneOf, type TProperties, type TSchema, Type, text, type Variants } from "../types.ts";

const [EXAMPLE_FILE, EXAMPLE_PAGE_MESSAGE] = ["1300000000000601", "m_AG5Hz2U"];

/** Platforms add fields. Without an index signature, generated types tell contents apart by `"id" in content`. */
const content = (properties: TProperties, options: { title?: string; description?: string } = {}) =>
  Type.Object(properties, options);

const optionalText = (example: string, description?: string) => Type.Optional(text(example, description));

const file = content(
  {
    id: text(EXAMPLE_FILE, "Download it with `GET /api/channels/{channel_id}/media/{media_id}`"),
    mime_type: optionalText("image/jpeg"),
    sha256: optionalText("BkyG9bTnUNxWDJWzTv1fHJ0Uy0tVRfUD7Dhaqzqsyxs="),
    caption: optionalText("Broken"),
    filename: optionalText("order.pdf", "Of a document"),
    voice: Type.Optional(Type.Boolean({ description: "Of an audio: recorded in the chat" })),
    animated: Type.Optional(Type.Boolean({ description: "Of a sticker" })),
  },
  { title: "ReceivedFile", description: "A file on chatapp" },
);

const pageMessage = content(
  {
    mid: text(EXAMPLE_PAGE_MESSAGE, "The platform's id of the message"),
    text: optionalText("Hello"),
    quick_reply: Type.Optional(
      content({ payload: optionalText("YES") }, { description: "The quick reply that the person chose" }),
    ),
    attachments: Type.Optional(
      Type.Array(
        content({
          type: optionalText("image"),
          payload: Type.Optional(content({ url: optionalText("https://cdn.example.com/picture.png") })),
        }),
      ),
    ),
  },
  { title: "PageMessage", description: "A message on photoapp or socialapp, as the platform sends it" },
);

const chatText = content(
  { body: text("Hello") },
  { title: "ReceivedBody", description: "A text on chatapp" },
);

const location = content(
  {
    latitude: Type.Number({ examples: [-23.5613] }),
    longitude: Type.Number({ examples: [-46.6565] }),
    name: optionalText("Avenida Paulista"),
    address: optionalText("Avenida Paulista, 1578"),
  },
  { title: "ReceivedPlace", description: "A location on chatapp" },
);

const contact = content({
  name: Type.Optional(content({ formatted_name: optionalText("Ana Souza") })),
  phones: Type.Optional(
    Type.Array(content({ phone: optionalText("+55 11 98888-7777"), wa_id: optionalText("5511988887777") })),
  ),
});

const reply = { id: optionalText("yes"), title: optionalText("Yes") };

const interactive = content({
  type: knownOrOther(oneOf(["button_reply", "list_reply", "nfm_reply"])),
  button_reply: Type.Optional(content(reply)),
  list_reply: Type.Optional(content({ ...reply, description: optionalText("Within a day") })),
  nfm_reply: Type.Optional(
    content({
      name: optionalText("flow"),
      body: optionalText("Sent"),
      response_json: optionalText('{"flow_token":"1"}', "The answers, as JSON in a text"),
    }),
  ),
});

const order = content({
  catalog_id: optionalText("1100000000000601"),
  text: optionalText("Please wrap it"),
  product_items: Type.Optional(
    Type.Array(
      content({
        product_retailer_id: optionalText("coffee-1"),
        quantity: Type.Optional(Type.Number({ examples: [2] })),
        item_price: Type.Optional(Type.Number({ examples: [25.5] })),
        currency: optionalText("BRL"),
      }),
    ),
  ),
});

const reaction = content({
  emoji: optionalText("👍", "Absent or empty when the person removed the reaction"),
  message_id: optionalText("wamid.HBgLNTUxMTk4ODg4Nzc3Nw", "chatapp only: the message reacted to"),
  mid: optionalText(EXAMPLE_PAGE_MESSAGE, "photoapp and socialapp only: the message reacted to"),
  action: optionalText("react", "photoapp and socialapp only: `react` or `unreact`"),
  reaction: optionalText("love", "photoapp and socialapp only"),
});

const postback = content({
  payload: optionalText("GET_STARTED", "What you gave to the button"),
  title: optionalText("Get started"),
  mid: optionalText(EXAMPLE_PAGE_MESSAGE),
});

const system = content({
  body: optionalText("User changed their number"),
  type: optionalText("user_changed_number"),
  wa_id: optionalText("5511988887778", "The new phone number"),
  user_id: optionalText("US.13491208655302741918"),
});

/** A message of one or several types, without the fields that messages of all types have. */
const received = (name: string, types: readonly string[], content: TSchema) =>
  Type.Object({ type: oneOf(types), content }, { title: `Received${name}` });

const variants = [
  received("Text", ["text"], Type.Union([chatText, pageMessage])),
  received("Media", ["image", "video", "audio", "document", "sticker"], Type.Union([file, pageMessage])),
  received("Location", ["location"], Type.Union([location, pageMessage])),
  received("Contacts", ["contacts"], Type.Array(contact)),
  received("Interactive", ["interactive"], interactive),
  received("Button", ["button"], content({ text: text("Stop"), payload: optionalText("STOP") })),
  received("Order", ["order"], order),
  received("Reaction", ["reaction"], reaction),
  received("Postback", ["postback"], postback),
  received("System", ["system"], system),
  received("PageMessage", ["file", "template", "fallback", "share", "story_mention", "deleted"], pageMessage),
  Type.Object(
    {
      type: knownOrOther(oneOf(["echo", "edit", "revoke", "unsupported"])),
      content: Type.Unknown({ description: "Null when the platform sends none" }),
    },
    {
      title: "ReceivedOther",
      description: "A message of a type whose content is not described, or that the platform has added",
    },
  ),
];

/** The content of a received message by its type. */
export const CONTENT_BY_TYPE: Variants = { tag: "type", variants };
