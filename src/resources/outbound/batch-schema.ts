import { batchName, MAX_BATCH_MESSAGES } from "../../schema/batches.ts";
import { externalRef } from "../../schema/channels.ts";
import { BATCH_STATUSES, MESSAGE_TYPES, type MessageType } from "../../schema/enumerations.ts";
import {
  discriminated,
  object,
  oneOf,
  openObject,
  prefixedId,
  type Static,
  type TSchema,
  Type,
} from "../../schema/types.ts";
import {
  CONTENT_SCHEMAS,
  channelId,
  contentRules,
  pageOptions,
  sendAt,
  TYPE_DESCRIPTION,
  tagRule,
  titleOf,
  to,
  type,
} from "./schema.ts";

const { text, template } = CONTENT_SCHEMAS;

/** The common content of each type. Texts may all be the messages' own. */
const COMMON_CONTENT = {
  ...CONTENT_SCHEMAS,
  text: openObject(
    { ...text.properties, body: Type.Optional(text.properties.body) },
    { title: "CommonTextContent" },
  ),
} satisfies Record<MessageType, TSchema>;

const entry = { to, external_ref: Type.Optional(externalRef) };

const plainEntry = object(entry, { title: "BatchMessageDto" });
const templateEntry = object(
  { ...entry, components: template.properties.components },
  { title: "BatchTemplateMessageDto" },
);
const textEntry = object(
  { ...entry, body: Type.Optional(text.properties.body) },
  { title: "BatchTextMessageDto" },
);

/** A message of a batch of this type. Its further fields replace those of the common content. */
export function entrySchema(type: MessageType): TSchema {
  if (type === "template") return templateEntry;
  return type === "text" ? textEntry : plainEntry;
}

/** A message of a batch that its schema accepts. */
export interface BatchEntry {
  to: string;
  external_ref?: string;
  components?: unknown[];
  body?: string;
}

const messages = (items: TSchema) =>
  Type.Array(items, {
    minItems: 1,
    maxItems: MAX_BATCH_MESSAGES,
    description: `1 to ${MAX_BATCH_MESSAGES} messages. A fault in one of them rejects that one only`,
  });

const options = {
  ...pageOptions,
  name: Type.Optional(batchName),
  send_at: Type.Optional(sendAt("the batch is to start")),
  rate_per_second: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: "At most this many messages per second, up to the rate of the channel",
      examples: [20],
    }),
  ),
};

const examples = [
  {
    channel_id: "ch_01jc8m4t7v2x5k9w3r6y1b0nqd",
    type: "template",
    template: { name: "order_update", language: { code: "pt_BR" } },
    messages: [
      {
        to: "5511988887777",
        external_ref: "order-1042",
        components: [{ type: "body", parameters: [{ type: "text", text: "Ana" }] }],
      },
    ],
    name: "spring-sale",
    rate_per_second: 20,
  },
];

/** Checks a batch apart from its messages. */
export const sendBatch = object(
  {
    channel_id: channelId,
    type,
    ...Type.Partial(Type.Object(COMMON_CONTENT)).properties,
    ...options,
    messages: messages(Type.Unknown()),
  },
  { examples, allOf: [{ properties: { type } }, ...contentRules, tagRule] },
);

export type SendBatchDto = Static<typeof sendBatch>;

/** Documents the same batches as a union, so that generated clients require the content of the type. */
export const sendBatchDocs = discriminated(
  "type",
  MESSAGE_TYPES.map((type) =>
    object(
      {
        channel_id: channelId,
        type: Type.Literal(type),
        [type]: COMMON_CONTENT[type],
        ...options,
        messages: messages(entrySchema(type)),
      },
      { title: titleOf(type, "Batch"), allOf: [tagRule] },
    ),
  ),
  { title: "SendBatchDto", description: TYPE_DESCRIPTION, examples },
);

export const batchParams = object({ batch_id: prefixedId("bat", { description: "The batch" }) });

export const batchFilters = {
  channel_id: Type.Optional(prefixedId("ch", { description: "Only batches of this channel" })),
  status: Type.Optional(oneOf(BATCH_STATUSES, { description: "Only batches with this status" })),
};
