import { PLATFORM_TEMPLATE_STATUSES } from "../../platforms/chat/template-status.ts";
import { platformId } from "../../schema/channels.ts";
import { TEMPLATE_STATUSES } from "../../schema/enumerations.ts";
import { platformError } from "../../schema/platform-error.ts";
import { nullable, object, oneOf, prefixedId, type Static, Type } from "../../schema/types.ts";

const EXAMPLE = {
  channel_id: "ch_01jc8m4t7v2x5k9w3r6y1b0nqd",
  hsm_id: "1689556908129832",
  name: "order_update",
  language: "pt_BR",
  category: "UTILITY",
  components: [{ type: "BODY", text: "Order {{1}} ships today.", example: { body_text: [["A-1"]] } }],
};
const { channel_id, hsm_id, ...TEMPLATE } = EXAMPLE;

const channelId = prefixedId("ch", { description: "A connected chatapp channel" });
const text = (example: string) => Type.String({ examples: [example] });
const components = Type.Array(Type.Object({}, { additionalProperties: true }), {
  examples: [TEMPLATE.components],
});
const status = oneOf(TEMPLATE_STATUSES, { description: "APPROVED always means that it can be sent" });
const platformStatus = Type.String({
  description: "The platform's own word for it",
  examples: ["IN_APPEAL"],
});
const message = Type.String({
  description: "The chat platform's reason, where it refused",
  examples: ["There is already pt_BR content for this template."],
});

/** Of its content the platform is the judge. */
const templateData = Type.Object(
  {
    name: text(TEMPLATE.name),
    language: text(TEMPLATE.language),
    category: text(TEMPLATE.category),
    components,
  },
  {
    title: "TemplateData",
    description: "A template in the chat platform's own form; it is passed on as it is, further fields too",
    additionalProperties: true,
    examples: [TEMPLATE],
  },
);

export const submission = object(
  { channel_id: channelId, template_data: templateData },
  { title: "SubmitTemplateDto" },
);

export const submitted = object(
  {
    externalCode: Type.Integer({
      description: "200: accepted for review. Any other: refused, as the chat platform's HTTP status says it",
      examples: [200],
    }),
    status: Type.Optional(status),
    platform_status: Type.Optional(platformStatus),
    id_external: Type.Optional(text(hsm_id)),
    name: Type.Optional(text(TEMPLATE.name)),
    message: Type.Optional(message),
    platform_error: Type.Optional(platformError),
  },
  {
    title: "SubmitTemplateResponseDto",
    examples: [
      {
        externalCode: 200,
        status: "PENDING",
        platform_status: "PENDING",
        id_external: hsm_id,
        name: TEMPLATE.name,
      },
    ],
  },
);

export type SubmittedDto = Static<typeof submitted>;

/** Filters of the body; of a list in a body the paging stands there too. */
export const listing = object(
  {
    channel_id: channelId,
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 512, examples: [TEMPLATE.name] })),
    status: Type.Optional(
      oneOf(PLATFORM_TEMPLATE_STATUSES, {
        description: "One of our three words with all that they stand for, or another of the platform's",
      }),
    ),
    category: Type.Optional(Type.String({ minLength: 1, maxLength: 64, examples: [TEMPLATE.category] })),
    language: Type.Optional(Type.String({ minLength: 1, maxLength: 64, examples: [TEMPLATE.language] })),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: "Rows per page; absent: all", examples: [25] }),
    ),
    after: Type.Optional(
      Type.String({
        description: "Cursor: rows that follow it, of the same channel and filters",
        examples: ["WyJjaF8wMWpjOG00dDd2MiJd.m3Vw8kPq2rT5yXb7"],
      }),
    ),
  },
  {
    title: "ListTemplatesDto",
    examples: [{ channel_id, status: "APPROVED", language: TEMPLATE.language, limit: 25 }],
  },
);

export type Listing = Static<typeof listing>;

export const template = object(
  {
    hsm_id: Type.String({ description: "Of this translation", examples: [hsm_id] }),
    name: Type.Optional(text(TEMPLATE.name)),
    language: Type.Optional(text(TEMPLATE.language)),
    category: Type.Optional(text(TEMPLATE.category)),
    status: Type.Optional(status),
    platform_status: Type.Optional(platformStatus),
    rejected_reason: Type.Optional(text("NONE")),
    quality_score: Type.Optional(text("GREEN")),
    components: Type.Optional(components),
  },
  {
    title: "TemplateDto",
    description: "One translation of a template. What the platform did not tell is absent",
    examples: [
      {
        hsm_id,
        ...TEMPLATE,
        status: "APPROVED",
        platform_status: "APPROVED",
        rejected_reason: "NONE",
        quality_score: "GREEN",
      },
    ],
  },
);

export type TemplateDto = Static<typeof template>;

export const namespace = nullable(
  Type.String({
    description: "Of all templates of the channel's business",
    examples: ["8f3c2a1e_5b7d_4c9f_a2e4_6d1b0c8e7f53"],
  }),
);

export const deletion = object(
  {
    channel_id: channelId,
    template_name: Type.String({
      minLength: 1,
      maxLength: 512,
      description: "All its translations are deleted",
      examples: [TEMPLATE.name],
    }),
    hsm_id: Type.Optional(platformId(hsm_id, "Only this translation is deleted")),
  },
  { title: "DeleteTemplateDto" },
);

export const deleted = object(
  {
    success: Type.Boolean(),
    status_code: Type.Integer({ description: "The chat platform's HTTP status", examples: [200] }),
    message: Type.Optional(message),
  },
  { title: "DeleteTemplateResponseDto", examples: [{ success: true, status_code: 200 }] },
);

export type DeletedDto = Static<typeof deleted>;
