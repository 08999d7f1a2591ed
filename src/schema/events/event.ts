import { EVENT_KEYS, EVENT_STATUSES, EVENT_TYPES, SKIP_REASONS } from "../enumerations.ts";
import { DELIVERY_ERRORS } from "../history/stored-errors.ts";
import { nullable, object, oneOf, prefixedId, type Static, Type, timestamp } from "../types.ts";
import { EXAMPLE_RECORDED_TIME, EXAMPLE_TIME } from "./envelope.ts";
import { anyEventPayload, EVENT_PAYLOADS } from "./payloads.ts";

const error = nullable(
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
    last_error: error,
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
    error,
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
    delivery_attempts: Type.Array(deliveryAttempt),
  },
  {
    title: "EventDetailDto",
    examples: [
      {
        ...EVENT_EXAMPLE,
        payload: EVENT_PAYLOADS[EVENT_EXAMPLE.type].examples?.[0],
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
