import { CHANNEL_EXAMPLE, embedError, embedResult } from "../channels.ts";
import { type EventType, PLATFORMS, TEMPLATE_STATUSES } from "../enumerations.ts";
import { object, oneOf, openObject, optional, prefixedId, Type, text, timestamp } from "../types.ts";
import { channelEnvelope, EXAMPLE_CHANNEL, EXAMPLE_TIME, eventPayload } from "./envelope.ts";
import { personFields } from "./message-events.ts";

const at = timestamp({ description: "When it happened, by the platform's clock" });

const SESSION_ID = "es_01jc8m4t7v2x5k9w3r6y1b0nqd";

const channelChange = object(
  {
    change: text("phone_number_quality_update", "The platform's name of the change"),
    ...optional({
      before: text("TIER_1K"),
      after: text("FLAGGED", "The new value. Of `user_preferences`: stop, resume or signup"),
      person: object(personFields, { title: "Person", description: "The person whom the change concerns" }),
      category: text("marketing_messages", "Of `user_preferences`: the category of messages"),
      details: openObject(
        {},
        {
          examples: [{ current_limit: "TIER_1K" }],
          description: "The other fields of the change, under the platform's names",
        },
      ),
      at,
    }),
  },
  { title: "ChannelChangeData" },
);

/** Why a channel was disconnected. */
const DISCONNECT_REASONS = ["token_dead", "requested", "taken_over", "platform"] as const;
export type DisconnectReason = (typeof DISCONNECT_REASONS)[number];

const disconnection = object(
  {
    reason: oneOf(DISCONNECT_REASONS, {
      description:
        "`token_dead`: the platform rejects the token; connect the channel again. `requested`: through the API. `taken_over`: the number or page was connected elsewhere. `platform`: the platform ended the connection",
    }),
  },
  { title: "DisconnectionData" },
);

const completedSignup = object(
  { session_id: prefixedId("es"), result: embedResult },
  { title: "CompletedSignupData" },
);

const failedSignup = object(
  { session_id: prefixedId("es"), ...embedError.properties },
  { title: "FailedSignupData" },
);

/** Events about the channel itself and its embedded signup. */
export const CHANNEL_PAYLOADS = {
  "channel.updated": eventPayload("channel.updated", {
    ...channelEnvelope(PLATFORMS),
    data: channelChange,
    example: {
      channel_id: EXAMPLE_CHANNEL,
      data: {
        change: "phone_number_quality_update",
        after: "FLAGGED",
        details: { display_phone_number: "5511900000301", current_limit: "TIER_1K" },
        at: EXAMPLE_TIME,
      },
      raw: { display_phone_number: "5511900000301", event: "FLAGGED", current_limit: "TIER_1K" },
    },
  }),
  "channel.disconnected": eventPayload("channel.disconnected", {
    ...channelEnvelope(PLATFORMS),
    data: disconnection,
    example: {
      channel_id: EXAMPLE_CHANNEL,
      channel_external_ref: "store-42",
      data: { reason: "token_dead" },
    },
  }),
  "channel.connected": eventPayload("channel.connected", {
    keys: ["embedded_signup"],
    always: ["channel_id"],
    sometimes: ["external_ref", "channel_external_ref"],
    data: completedSignup,
    example: {
      channel_id: EXAMPLE_CHANNEL,
      external_ref: "store-42",
      channel_external_ref: "store-42",
      data: {
        session_id: SESSION_ID,
        result: {
          channel: CHANNEL_EXAMPLE,
          waba_id: CHANNEL_EXAMPLE.waba_id,
          phone_number_id: CHANNEL_EXAMPLE.phone_number_id,
          template_namespace: CHANNEL_EXAMPLE.template_namespace,
          external_ref: "store-42",
        },
      },
    },
  }),
  "embed_session.failed": eventPayload("embed_session.failed", {
    keys: ["embedded_signup"],
    sometimes: ["external_ref"],
    data: failedSignup,
    example: {
      external_ref: "store-42",
      data: {
        session_id: SESSION_ID,
        code: "missing_permission",
        message: "The permission whatsapp_business_messaging was not granted",
        step: "grant",
      },
    },
  }),
};

const [POST_ID, COMMENT_ID] = ["1400000000000401_700", "700_900"];
const AUTHOR = { id: "24000000000000001", name: "Ana" };

const publicationData = object(
  {
    id: text(COMMENT_ID, "The comment or post"),
    ...optional({
      parent_id: text("700_899", "The comment that this one answers"),
      post_id: text(POST_ID),
      from: openObject(optional({ id: text(AUTHOR.id), name: text(AUTHOR.name), username: text("ana") }), {
        title: "Author",
      }),
      text: text("Lovely!"),
      verb: text("add", "The platform's word: add, edited, hide, unhide or remove"),
      at,
    }),
  },
  { title: "PublicationData" },
);

const publication = (type: EventType, { data, raw }: { data: object; raw: object }) =>
  eventPayload(type, {
    ...channelEnvelope(["publishing"]),
    data: publicationData,
    example: { channel_id: EXAMPLE_CHANNEL, data: { ...data, at: EXAMPLE_TIME }, raw },
  });

const comment = (verb: string, content: { text?: string }) => {
  const place = { post_id: POST_ID, from: AUTHOR, verb };
  return {
    data: { id: COMMENT_ID, ...place, ...content },
    raw: {
      item: "comment",
      comment_id: COMMENT_ID,
      ...place,
      ...(content.text ? { message: content.text } : {}),
      created_time: 1793525400,
    },
  };
};

const leadData = object(
  {
    lead_id: text("1400000000000801"),
    ...optional({
      form_id: text("1400000000000802"),
      ad_id: text("120210000000000301"),
      page_id: text("1400000000000401"),
      created_at: timestamp(),
      fields: Type.Array(
        object(
          { name: text("email"), values: Type.Array(text("ana@customer.example")) },
          { title: "LeadField" },
        ),
        {
          description:
            "The person's answers, which Herald fetches before it records the event; absent when the platform does not return them within 5 seconds",
        },
      ),
    }),
  },
  { title: "LeadData" },
);

const LEAD_IDS = { form_id: "1400000000000802", ad_id: "120210000000000301", page_id: "1400000000000401" };

/** Events about leads, comments, mentions and posts. */
export const PUBLICATION_PAYLOADS = {
  "lead.created": eventPayload("lead.created", {
    ...channelEnvelope(["marketing"]),
    data: leadData,
    example: {
      channel_id: EXAMPLE_CHANNEL,
      data: {
        lead_id: "1400000000000801",
        ...LEAD_IDS,
        created_at: EXAMPLE_TIME,
        fields: [{ name: "email", values: ["ana@customer.example"] }],
      },
      raw: { leadgen_id: "1400000000000801", ...LEAD_IDS, created_time: 1793525400 },
    },
  }),
  "comment.created": publication("comment.created", comment("add", { text: "Lovely!" })),
  "comment.updated": publication("comment.updated", comment("edited", { text: "Really lovely!" })),
  "comment.deleted": publication("comment.deleted", comment("remove", {})),
  "mention.created": publication("mention.created", {
    data: { id: "17900000000000001", post_id: "17900000000000002", verb: "add" },
    raw: { comment_id: "17900000000000001", media_id: "17900000000000002" },
  }),
  "post.updated": publication("post.updated", {
    data: { id: POST_ID, post_id: POST_ID, from: AUTHOR, text: "New opening hours", verb: "add" },
    raw: { item: "status", post_id: POST_ID, from: AUTHOR, message: "New opening hours", verb: "add" },
  }),
};

const [TEMPLATE_ID, TEMPLATE_NAME, TEMPLATE_LANGUAGE] = ["1300000000000701", "order_update", "pt_BR"];

const templateFields = {
  hsm_id: text(TEMPLATE_ID, "The platform's id of the template"),
  ...optional({ name: text(TEMPLATE_NAME), language: text(TEMPLATE_LANGUAGE) }),
};

const templateStatus = object(
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

const templateChange = (title: string, before: string, after: string) =>
  object({ ...templateFields, ...optional({ before: text(before), after: text(after) }) }, { title });

const rawTemplate = {
  message_template_id: 1300000000000701,
  message_template_name: TEMPLATE_NAME,
  message_template_language: TEMPLATE_LANGUAGE,
};

const templateExample = (data: object, raw: object) => ({
  channel_id: EXAMPLE_CHANNEL,
  data: { hsm_id: TEMPLATE_ID, name: TEMPLATE_NAME, language: TEMPLATE_LANGUAGE, ...data },
  raw: { ...rawTemplate, ...raw },
});

const templateEnvelope = channelEnvelope(["chatapp"]);

/** Events about the templates of a chatapp channel. */
export const TEMPLATE_PAYLOADS = {
  "template.status_updated": eventPayload("template.status_updated", {
    ...templateEnvelope,
    data: templateStatus,
    example: templateExample(
      { status: "REJECTED", platform_status: "REJECTED", reason: "INVALID_FORMAT" },
      { event: "REJECTED", reason: "INVALID_FORMAT" },
    ),
  }),
  "template.quality_updated": eventPayload("template.quality_updated", {
    ...templateEnvelope,
    data: templateChange("TemplateQualityData", "GREEN", "YELLOW"),
    example: templateExample(
      { before: "GREEN", after: "YELLOW" },
      { previous_quality_score: "GREEN", new_quality_score: "YELLOW" },
    ),
  }),
  "template.category_updated": eventPayload("template.category_updated", {
    ...templateEnvelope,
    data: templateChange("TemplateCategoryData", "UTILITY", "MARKETING"),
    example: templateExample(
      { before: "UTILITY", after: "MARKETING" },
      { previous_category: "UTILITY", new_category: "MARKETING" },
    ),
  }),
};
