import { CHANNEL_EXAMPLE, embedError, embedResult } from "../channels.ts";
import { PLATFORMS } from "../enumerations.ts";
import { object, oneOf, openObject, optional, prefixedId, text, timestamp } from "../types.ts";
import { channelEnvelope, EXAMPLE_CHANNEL, EXAMPLE_TIME, eventPayload } from "./envelope.ts";
import { personFields } from "./message-events.ts";

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
      at: timestamp({ description: "When it happened, by the platform's clock" }),
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
