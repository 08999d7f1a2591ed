import {
  DISPATCH_KEYS,
  EVENT_KEYS,
  EVENT_STATUSES,
  EVENT_TYPES,
  type EventType,
  SKIP_REASONS,
} from "../enumerations.ts";
import { DELIVERY_ERRORS } from "../stored-errors.ts";
import {
  discriminated,
  nullable,
  object,
  oneOf,
  openObject,
  prefixedId,
  type Static,
  type TSchema,
  Type,
  text,
  timestamp,
} from "../types.ts";
import { AD_PAYLOADS } from "./ad-events.ts";
import { CHANNEL_PAYLOADS, PUBLICATION_PAYLOADS, TEMPLATE_PAYLOADS } from "./channel-events.ts";
import { EXAMPLE_CHANNEL, EXAMPLE_RECORDED_TIME, EXAMPLE_TIME, eventPayload } from "./envelope.ts";
import { MESSAGE_PAYLOADS } from "./message-events.ts";

/** Every event type, with its meaning for the documentation. */
export const EVENT_MEANINGS: Readonly<Record<EventType, string>> = {
  "message.received": "A person sent a message to the channel",
  "message.status": "The platform reported a new status of a message you sent",
  "message.send_result": "The platform accepted or rejected a message, or its outcome is unknown",
  "batch.updated": "A batch started, paused, continued, ended or was cancelled",
  "template.status_updated": "The review of a template ended, or its status changed",
  "template.quality_updated": "The platform changed the quality score of a template",
  "template.category_updated": "The platform moved a template to another category",
  "channel.updated": "A property of the channel changed, such as its name, quality or limits",
  "channel.disconnected":
    "The channel was disconnected, lost its token or was taken over; `data.reason` says which",
  "channel.connected": "A customer connected a channel through the embedded signup",
  "embed_session.failed": "An embedded signup failed",
  "ad_account.connected": "An ad account was connected, or connected again",
  "ad_account.updated": "A property of the ad account changed at the platform",
  "ad_account.revoked": "The platform rejects the token of the ad account for good",
  "ad_account.token_expiring": "The token of the ad account expires in 14, 7 or 1 days",
  "ad_object.status_changed": "A campaign, ad set or ad changed its effective status",
  "ad_object.with_issues": "The platform reports issues of a campaign, ad set or ad",
  "creative.fatigue": "The platform reports that an audience has seen a creative too often",
  "lead.created": "A person submitted a lead form",
  "insights.report.completed": "An asynchronous insights report is ready",
  "insights.report.failed": "An asynchronous insights report failed",
  "comment.created": "A person commented on a post or photo",
  "comment.updated": "A comment was edited or hidden",
  "comment.deleted": "A comment was deleted",
  "mention.created": "The page or photo account was mentioned",
  "post.updated": "A post of the page was added, edited or removed",
  "platform.event": "A platform update that Herald does not interpret; `raw` has it",
  "webhook.test": "A test event, sent by `POST /api/webhooks/test`",
};

const UNKNOWN_UPDATE = { call_id: "wacid.HBgL", event: "connect" };

/** The payload of each event type. */
export const EVENT_PAYLOADS: Readonly<Record<EventType, TSchema>> = {
  ...MESSAGE_PAYLOADS,
  ...TEMPLATE_PAYLOADS,
  ...CHANNEL_PAYLOADS,
  ...AD_PAYLOADS,
  ...PUBLICATION_PAYLOADS,
  "platform.event": eventPayload("platform.event", {
    keys: DISPATCH_KEYS,
    sometimes: ["channel_id", "ad_account_id", "channel_external_ref", "raw"],
    data: object(
      {
        field: text("calls", "The platform's name of the update"),
        value: Type.Unknown({
          examples: [UNKNOWN_UPDATE],
          description: "The update itself, the same as `raw`",
        }),
      },
      { title: "PlatformEventData" },
    ),
    example: {
      channel_id: EXAMPLE_CHANNEL,
      data: { field: "calls", value: UNKNOWN_UPDATE },
      raw: UNKNOWN_UPDATE,
    },
  }),
  "webhook.test": eventPayload("webhook.test", {
    keys: [...EVENT_KEYS, null],
    data: openObject({}, { title: "TestData", description: "Empty, unless the request has `data`" }),
    example: { data: {} },
  }),
};

/** The body that Herald posts for an event of any type. */
export const anyEventPayload = discriminated("type", Object.values(EVENT_PAYLOADS), {
  title: "Event",
  description: "An event of any type, as Herald posts it: the body of each attempt, byte for byte",
});

const deliveryError = nullable(
  Type.String({
    description: `A short stable text: \`HTTP\` and the status, or one of ${Object.keys(DELIVERY_ERRORS).join(", ")}`,
    examples: ["HTTP 503"],
  }),
);

export const EVENT_EXAMPLE = {
  id: "evt_01jc8m4t7v2x5k9w3r6y1b0nqd",
  type: "message.received",
  key: "chatapp",
  channel_id: "ch_01jc8m4t7v2x5k9w3r6y1b0nqd",
  ad_account_id: null,
  status: "pending",
  skip_reason: null,
  attempts: 1,
  last_status_code: 503,
  last_error: "HTTP 503",
  next_attempt_at: "2026-11-01T09:30:05.000Z",
  url: "https://shop.example.com/herald/chat/receiveMessage",
  occurred_at: EXAMPLE_TIME,
  recorded_at: EXAMPLE_RECORDED_TIME,
  delivered_at: null,
} as const;

export const event = object(
  {
    id: prefixedId("evt", { description: "Also the `webhook-id` header of each attempt" }),
    type: oneOf(EVENT_TYPES),
    key: nullable(oneOf(EVENT_KEYS, { description: "Null for a test event sent to `webhook_url` itself" })),
    channel_id: nullable(prefixedId("ch")),
    ad_account_id: nullable(Type.String({ examples: ["act_1002003004005006"] })),
    status: oneOf(EVENT_STATUSES),
    skip_reason: nullable(oneOf(SKIP_REASONS, { description: "Set only while the status is skipped" })),
    attempts: Type.Integer({ minimum: 0 }),
    last_status_code: nullable(Type.Integer({ examples: [503] })),
    last_error: deliveryError,
    next_attempt_at: nullable(timestamp({ description: "Set only while the status is pending" })),
    url: nullable(
      Type.String({
        description:
          "The URL of the last attempt; before the first attempt, the URL that the current configuration gives",
        examples: ["https://backend.customer.example/hooks/chat/receiveMessage"],
      }),
    ),
    occurred_at: timestamp({ description: "The platform's time, often in whole seconds" }),
    recorded_at: timestamp({ description: "When Herald recorded the event, in milliseconds" }),
    delivered_at: nullable(timestamp()),
  },
  { title: "EventDto", examples: [EVENT_EXAMPLE] },
);

export type EventDto = Static<typeof event>;

const deliveryAttempt = object(
  {
    attempt: Type.Integer({ minimum: 1, description: "Numbered continuously, also across manual retries" }),
    at: timestamp(),
    status_code: nullable(Type.Integer({ examples: [503], description: "Null when no response arrived" })),
    duration_ms: Type.Integer({ minimum: 0, examples: [184] }),
    error: deliveryError,
    response_excerpt: nullable(
      Type.String({
        description: "The beginning of the response body",
        examples: ["upstream connect error"],
      }),
    ),
  },
  { title: "DeliveryAttemptDto" },
);

export const eventDetail = object(
  {
    ...event.properties,
    payload: anyEventPayload,
    headers: Type.Object(
      {},
      {
        additionalProperties: Type.String(),
        description:
          "The headers that are the same on every attempt. Each attempt also has `webhook-timestamp`, `x-webhook-attempt` and, with a secret, `webhook-signature`",
      },
    ),
    delivery_attempts: Type.Array(deliveryAttempt),
  },
  {
    title: "EventDetailDto",
    examples: [
      {
        ...EVENT_EXAMPLE,
        payload: EVENT_PAYLOADS[EVENT_EXAMPLE.type].examples?.[0],
        headers: {
          "content-type": "application/json",
          "webhook-id": EVENT_EXAMPLE.id,
          "x-webhook-event": EVENT_EXAMPLE.type,
        },
        delivery_attempts: [
          {
            attempt: 1,
            at: "2026-11-01T09:30:00.120Z",
            status_code: 503,
            duration_ms: 184,
            error: "HTTP 503",
            response_excerpt: "upstream connect error",
          },
        ],
      },
    ],
  },
);

export type EventDetailDto = Static<typeof eventDetail>;
