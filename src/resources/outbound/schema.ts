import { externalRef } from "../../schema/channels.ts";
import {
  MESSAGE_STATUSES,
  MESSAGE_TYPES,
  MESSAGING_TYPES,
  type MessageType,
  PLATFORMS,
} from "../../schema/enumerations.ts";
import {
  discriminated,
  implies,
  object,
  oneOf,
  openObject,
  prefixedId,
  rule,
  type Static,
  type TSchema,
  Type,
  timestamp,
} from "../../schema/types.ts";

const requiredText = (example: string) => Type.String({ minLength: 1, examples: [example] });

const text = openObject(
  {
    body: Type.String({ minLength: 1, maxLength: 4096, examples: ["Your order is on its way"] }),
    preview_url: Type.Optional(Type.Boolean({ description: "Whether to show a preview of the first link" })),
  },
  { title: "TextContent" },
);

const link = Type.String({
  maxLength: 8_192,
  pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^\\s/?#]\\S*$",
  description: "http or https URL from which the platform fetches the file",
  examples: ["https://shop.example.com/receipt.pdf"],
});

const caption = Type.Optional(
  Type.String({
    description: "On photoapp and socialapp it is sent as a text after the file",
    examples: ["Your receipt"],
  }),
);

const media = <P extends Record<string, TSchema>>(type: MessageType, title: string, extraFields: P) =>
  openObject(
    {
      id: Type.Optional(
        Type.String({
          minLength: 1,
          description: "The `media_id` of an uploaded file; chatapp only",
          examples: ["1166"],
        }),
      ),
      link: Type.Optional(link),
      ...extraFields,
    },
    {
      title,
      allOf: [
        rule("link", `${type} must have either an id or a link`, {
          oneOf: [{ required: ["id"] }, { required: ["link"] }],
        }),
      ],
    },
  );

/** The platform takes numbers as texts too; `text` is their schema. */
const numberWithin = (name: string, max: number, text: object) =>
  Type.Unsafe<number | string>({
    anyOf: [{ type: "number", minimum: -max, maximum: max }, text],
    "x-message": `location.${name} must be a number between -${max} and ${max}`,
  });

const location = openObject(
  {
    latitude: numberWithin("latitude", 90, {
      type: "string",
      maxLength: 64,
      pattern: "^[+-]?(90(\\.0*)?|[0-8]?\\d(\\.\\d*)?)$",
    }),
    longitude: numberWithin("longitude", 180, {
      type: "string",
      maxLength: 64,
      pattern: "^[+-]?(180(\\.0*)?|(1[0-7]\\d|\\d{1,2})(\\.\\d*)?)$",
    }),
    name: Type.Optional(Type.String({ examples: ["Our shop"] })),
    address: Type.Optional(Type.String({ examples: ["Rua Augusta 100, São Paulo"] })),
  },
  { title: "LocationContent" },
);

const contact = openObject(
  { name: openObject({ formatted_name: requiredText("Ana Souza") }) },
  { title: "Contact" },
);

const interactive = openObject(
  {
    type: Type.String({
      minLength: 1,
      maxLength: 64,
      description: "Any type of the chat platform, such as button, list, flow, cta_url or voice_call",
      examples: ["button"],
    }),
  },
  { title: "InteractiveContent" },
);

const template = openObject(
  {
    name: Type.String({ minLength: 1, maxLength: 512, examples: ["order_update"] }),
    language: openObject({ code: requiredText("pt_BR") }),
    components: Type.Optional(
      Type.Array(openObject({}), {
        description: "Values for the template's variables",
        examples: [[{ type: "body", parameters: [{ type: "text", text: "Ana" }] }]],
      }),
    ),
  },
  { title: "TemplateContent" },
);

const reaction = openObject(
  {
    message_id: Type.String({
      minLength: 1,
      description: "The platform's id of the message to react to",
      examples: ["wamid.x"],
    }),
    emoji: Type.String({ description: 'The reaction; "" removes it', examples: ["👍"] }),
  },
  { title: "ReactionContent" },
);

/** The content of each message type, in the chat platform's format. Unknown fields are passed through. */
export const CONTENT_SCHEMAS = {
  text,
  template,
  image: media("image", "ImageContent", { caption }),
  video: media("video", "VideoContent", { caption }),
  audio: media("audio", "AudioContent", {}),
  document: media("document", "DocumentContent", {
    caption,
    filename: Type.Optional(Type.String({ examples: ["receipt.pdf"] })),
  }),
  sticker: media("sticker", "StickerContent", {}),
  location,
  contacts: Type.Array(contact, { minItems: 1 }),
  interactive,
  reaction,
} satisfies Record<MessageType, TSchema>;

export const TYPE_DESCRIPTION =
  "The content is in the field that is named like the type, in the chat platform's format. photoapp and socialapp support text, image, video, audio and reaction; socialapp also supports document";

/** Checked first, because other problems may only follow from a wrong type. */
export const type = oneOf(MESSAGE_TYPES, {
  description: TYPE_DESCRIPTION,
  "x-code": "unsupported_message_type",
});

/** Requires exactly one content field, named after the type. */
export const contentRules = MESSAGE_TYPES.flatMap((type) => [
  rule(
    type,
    `${type} is required in a message of type ${type}`,
    implies({ required: ["type"], properties: { type: { const: type } } }, { required: [type] }),
  ),
  rule(type, `${type} does not fit the message type: send exactly one content field, named after the type`, {
    not: {
      required: ["type", type],
      properties: { type: { enum: MESSAGE_TYPES.filter((other) => other !== type) } },
    },
  }),
]);

export const channelId = prefixedId("ch", {
  description: "A connected channel; `GET /api/channels` lists them",
});

export const to = Type.String({
  description:
    "chatapp: a phone number with country code, digits only, or a business-scoped id. photoapp and socialapp: the person's id at the photo account or page",
  examples: ["5511988887777", "US.13491208655302741918"],
});

const recipient = { channel_id: channelId, to };

/** Only for photoapp and socialapp. */
export const pageOptions = {
  messaging_type: Type.Optional(
    oneOf(MESSAGING_TYPES, { description: "Only for photoapp and socialapp. Default: RESPONSE" }),
  ),
  tag: Type.Optional(
    Type.String({
      pattern: "^[A-Z_]{1,64}$",
      description: "Only for photoapp and socialapp. Required with MESSAGE_TAG",
      examples: ["HUMAN_AGENT"],
    }),
  ),
};

export const sendAt = (what: string) =>
  timestamp({
    description: `When ${what}, with time and offset; at most 30 days ahead. Up to 5 minutes in the past counts as now. Default: at once`,
    examples: ["2026-11-02T09:00:00-03:00"],
  });

const options = {
  context: Type.Optional(
    object(
      { message_id: Type.String({ minLength: 1, examples: ["wamid.HBgLNTUxMTk4ODg4Nzc3Nw"] }) },
      { description: "The message that this one replies to, by the platform's id" },
    ),
  ),
  external_ref: Type.Optional(externalRef),
  ...pageOptions,
  send_at: Type.Optional(sendAt("the message is to be sent")),
  platform: Type.Optional(
    oneOf(PLATFORMS, { description: "Optional check: must be the channel's platform" }),
  ),
};

export const tagRule = rule(
  "tag",
  "tag is required when messaging_type is MESSAGE_TAG",
  implies(
    { required: ["messaging_type"], properties: { messaging_type: { const: "MESSAGE_TAG" } } },
    { required: ["tag"] },
  ),
);

const examples = [
  {
    channel_id: "ch_01jc8m4t7v2x5k9w3r6y1b0nqd",
    to: "5511988887777",
    type: "text",
    text: { body: "Your order is on its way" },
    external_ref: "order-1042",
  },
];

/** Checks a message. Its rules have messages of their own, which a union of the message types could not have. */
export const sendMessage = object(
  { ...recipient, type, ...Type.Partial(Type.Object(CONTENT_SCHEMAS)).properties, ...options },
  { examples, allOf: [{ properties: { type } }, ...contentRules, tagRule] },
);

/** `text` becomes SendTextDto, or SendTextBatchDto. */
export const titleOf = (type: MessageType, suffix = "") =>
  `Send${type.charAt(0).toUpperCase()}${type.slice(1)}${suffix}Dto`;

/** Documents the same messages as a union, so that generated clients require the content of the type. */
export const sendMessageDocs = discriminated(
  "type",
  MESSAGE_TYPES.map((type) =>
    object(
      { ...recipient, type: Type.Literal(type), [type]: CONTENT_SCHEMAS[type], ...options },
      { title: titleOf(type), allOf: [tagRule] },
    ),
  ),
  {
    title: "SendMessageDto",
    description: TYPE_DESCRIPTION,
    examples,
  },
);

export type SendMessageDto = Static<typeof sendMessage>;

export const messageParams = object({ message_id: prefixedId("msg", { description: "The message" }) });

export const messageFilters = {
  channel_id: Type.Optional(prefixedId("ch", { description: "Only messages of this channel" })),
  batch_id: Type.Optional(prefixedId("bat", { description: "Only messages of this batch" })),
  status: Type.Optional(oneOf(MESSAGE_STATUSES, { description: "Only messages with this status" })),
  to: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 160,
      description: "Only messages to this recipient, written as in the request",
      examples: ["5511988887777"],
    }),
  ),
  external_ref: Type.Optional({ ...externalRef, description: "Only messages with your own reference" }),
  since: Type.Optional(
    timestamp({
      description: "Only messages created at or after this time",
      examples: ["2026-11-01T00:00:00.000Z"],
    }),
  ),
  until: Type.Optional(
    timestamp({
      description: "Only messages created at or before this time",
      examples: ["2026-11-02T00:00:00.000Z"],
    }),
  ),
};
