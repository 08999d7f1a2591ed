import { PLATFORM_TEMPLATE_STATUSES } from "../../platforms/chat/templates.ts";
import { platformId } from "../../schema/channels.ts";
import { TEMPLATE_STATUSES } from "../../schema/enumerations.ts";
import { platformError } from "../../schema/stored-errors.ts";
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
const status = oneOf(TEMPLATE_STATUSES, {
  description: "APPROVED always means that the template can be sent",
});
const platformStatus = Type.String({
  description: "The platform's own status",
  examples: ["IN_APPEAL"],
});
const message = Type.String({
  description: "The chat platform's reason for the rejection",
  examples: ["There is already pt_BR content for this template."],
});

/** The platform validates the content. */
const templateData = Type.Object(
  {
    name: text(TEMPLATE.name),
    language: text(TEMPLATE.language),
    category: text(TEMPLATE.category),
    components,
  },
  {
    title: "TemplateData",
    description: "A template in the chat platform's format; passed on unchanged, including additional fields",
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
      description: "200 if accepted for review; otherwise the chat platform's HTTP status",
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

/** Filters and paging, both in the body because the list is a POST. */
export const listing = object(
  {
    channel_id: channelId,
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 512, examples: [TEMPLATE.name] })),
    status: Type.Optional(
      oneOf(PLATFORM_TEMPLATE_STATUSES, {
        description:
          "PENDING, APPROVED and REJECTED include the platform's corresponding statuses; any other value matches exactly",
      }),
    ),
    category: Type.Optional(Type.String({ minLength: 1, maxLength: 64, examples: [TEMPLATE.category] })),
    language: Type.Optional(Type.String({ minLength: 1, maxLength: 64, examples: [TEMPLATE.language] })),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100,
        description: "Maximum number of templates per page. Default: all",
        examples: [25],
      }),
    ),
    after: Type.Optional(
      Type.String({
        description: "Cursor: return the templates after it. Valid for the same channel and filters only",
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
    hsm_id: Type.String({ description: "The platform's id of this translation", examples: [hsm_id] }),
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
    description: "One translation of a template. Fields that the platform does not report are absent",
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
    description: "Namespace of all templates of the channel's business account",
    examples: ["8f3c2a1e_5b7d_4c9f_a2e4_6d1b0c8e7f53"],
  }),
);

export const deletion = object(
  {
    channel_id: channelId,
    template_name: Type.String({
      minLength: 1,
      maxLength: 512,
      description: "The template to delete, with all its translations unless `hsm_id` is given",
      examples: [TEMPLATE.name],
    }),
    hsm_id: Type.Optional(platformId(hsm_id, "Delete only this translation")),
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
