import { CHANNEL_STATUSES, PLATFORMS, SIGNUP_ERROR_CODES, SIGNUP_STEPS } from "./enumerations.ts";
import { nullable, object, oneOf, prefixedId, type Static, Type, timestamp } from "./types.ts";

/** An id assigned by a platform. */
export const platformId = (example: string, description?: string) =>
  Type.String({
    pattern: "^\\d{1,32}$",
    examples: [example],
    ...(description === undefined ? {} : { description }),
  });

/** The client's own reference for an object, returned unchanged. */
export const externalRef = Type.String({ minLength: 1, maxLength: 256, examples: ["store-42"] });

/** A platform's access token. Never part of a reply. */
export const platformToken = Type.String({
  pattern: "^[\\x21-\\x7e]{1,4096}$",
  "x-message": "token must have 1 to 4096 visible ASCII characters",
});

export const CHANNEL_EXAMPLE = {
  channel_id: "ch_01jc8m4t7v2x5k9w3r6y1b0nqd",
  platform: "chatapp",
  status: "connected",
  display_name: "Sandbox Coffee",
  waba_id: "1500000000000201",
  phone_number_id: "1500000000000301",
  display_phone_number: "+55 11 90000-0301",
  template_namespace: "8f3c2a1e_5b7d_4c9f_a2e4_6d1b0c8e7f53",
  external_ref: "store-42",
  connected_at: "2026-11-01T09:30:00.000Z",
};

/** A field that is absent when it does not apply or is unknown. */
const text = (example: string) => Type.Optional(Type.String({ examples: [example] }));

export const channel = object(
  {
    channel_id: prefixedId("ch"),
    platform: oneOf(PLATFORMS),
    status: oneOf(CHANNEL_STATUSES, {
      description: "`needs_reauth`: the platform rejects the channel's token; connect the channel again",
    }),
    display_name: text(CHANNEL_EXAMPLE.display_name),
    waba_id: Type.Optional(
      platformId(CHANNEL_EXAMPLE.waba_id, "chatapp only: the number's business account"),
    ),
    phone_number_id: Type.Optional(platformId(CHANNEL_EXAMPLE.phone_number_id, "chatapp only")),
    display_phone_number: text(CHANNEL_EXAMPLE.display_phone_number),
    page_id: Type.Optional(platformId("1400000000000401", "socialapp: the page; photoapp: the linked page")),
    photoapp_user_id: Type.Optional(platformId("1400000000000501", "photoapp only")),
    template_namespace: text(CHANNEL_EXAMPLE.template_namespace),
    external_ref: Type.Optional(externalRef),
    connected_at: timestamp({ description: "When the channel was last connected" }),
  },
  { title: "ChannelDto", examples: [CHANNEL_EXAMPLE] },
);

export type ChannelDto = Static<typeof channel>;

/** The result of a completed signup, in the session and in its event. */
export const embedResult = object(
  {
    channel,
    waba_id: nullable(platformId("1500000000000201", "Null unless the channel is a chatapp channel")),
    phone_number_id: nullable(platformId("1400000000000301", "Null unless the channel is a chatapp channel")),
    template_namespace: nullable(
      Type.String({
        description: "Null unless the channel is a chatapp channel",
        examples: ["8f3c2a1e_5b7d_4c9f_a2e4_6d1b0c8e7f53"],
      }),
    ),
    external_ref: nullable(externalRef),
  },
  { title: "EmbedResultDto" },
);

export type EmbedResultDto = Static<typeof embedResult>;

export const embedError = object(
  {
    code: oneOf(SIGNUP_ERROR_CODES, { description: "Why the step failed" }),
    message: Type.String({ examples: ["The permission whatsapp_business_messaging was not granted"] }),
    step: oneOf(SIGNUP_STEPS, { description: "The step that failed" }),
  },
  { title: "EmbedErrorDto" },
);

export type EmbedErrorDto = Static<typeof embedError>;
