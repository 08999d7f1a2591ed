import type { MessageType } from "../../schema/enumerations.ts";
import { openObject, rule, type TSchema, Type } from "../../schema/types.ts";

/** The content of each message type, in the chat platform's format. Unknown fields are passed through. */

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
