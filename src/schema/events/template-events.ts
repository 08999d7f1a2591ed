import { TEMPLATE_STATUSES } from "../enumerations.ts";
import { object, oneOf, optional, text } from "../types.ts";
import { channelEnvelope, EXAMPLE_CHANNEL, eventPayload } from "./envelope.ts";

const [HSM_ID, NAME, LANGUAGE] = ["1300000000000701", "order_update", "pt_BR"];

const templateFields = {
  hsm_id: text(HSM_ID, "The platform's id of the template"),
  ...optional({ name: text(NAME), language: text(LANGUAGE) }),
};

const statusData = object(
  {
    ...templateFields,
    ...optional({
      status: oneOf(TEMPLATE_STATUSES, { description: "Only APPROVED templates can be sent" }),
      platform_status: text("REJECTED", "The platform's own word"),
      reason: text("INVALID_FORMAT"),
    }),
  },
  { title: "TemplateStatusData" },
);

const changeData = (title: string, before: string, after: string) =>
  object({ ...templateFields, ...optional({ before: text(before), after: text(after) }) }, { title });

const rawTemplate = {
  message_template_id: 1300000000000701,
  message_template_name: NAME,
  message_template_language: LANGUAGE,
};

const example = (data: object, raw: object) => ({
  channel_id: EXAMPLE_CHANNEL,
  data: { hsm_id: HSM_ID, name: NAME, language: LANGUAGE, ...data },
  raw: { ...rawTemplate, ...raw },
});

const envelope = channelEnvelope(["chatapp"]);

export const TEMPLATE_PAYLOADS = {
  "template.status_updated": eventPayload("template.status_updated", {
    ...envelope,
    data: statusData,
    example: example(
      { status: "REJECTED", platform_status: "REJECTED", reason: "INVALID_FORMAT" },
      { event: "REJECTED", reason: "INVALID_FORMAT" },
    ),
  }),
  "template.quality_updated": eventPayload("template.quality_updated", {
    ...envelope,
    data: changeData("TemplateQualityData", "GREEN", "YELLOW"),
    example: example(
      { before: "GREEN", after: "YELLOW" },
      { previous_quality_score: "GREEN", new_quality_score: "YELLOW" },
    ),
  }),
  "template.category_updated": eventPayload("template.category_updated", {
    ...envelope,
    data: changeData("TemplateCategoryData", "UTILITY", "MARKETING"),
    example: example(
      { before: "UTILITY", after: "MARKETING" },
      { previous_category: "UTILITY", new_category: "MARKETING" },
    ),
  }),
};
