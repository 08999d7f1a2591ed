import { EVENT_KEYS, EVENT_STATUSES, EVENT_TYPES, SKIP_REASONS } from "./enumerations.ts";
import { nullable, object, oneOf, prefixedId, type Static, Type, timestamp } from "./types.ts";

const error = nullable(Type.String({ examples: ["The backend answered 503"] }));

export const event = object(
  {
    id: prefixedId("evt", { description: "Also the `webhook-id` of each attempt" }),
    type: oneOf(EVENT_TYPES),
    key: nullable(oneOf(EVENT_KEYS, { description: "Null for a test of the bare address" })),
    channel_id: nullable(prefixedId("ch")),
    ad_account_id: nullable(Type.String({ examples: ["act_1002003004005006"] })),
    status: oneOf(EVENT_STATUSES),
    skip_reason: nullable(oneOf(SKIP_REASONS, { description: "Only while skipped" })),
    attempts: Type.Integer({ minimum: 0 }),
    last_status_code: nullable(Type.Integer({ examples: [503] })),
    last_error: error,
    next_attempt_at: nullable(timestamp({ description: "Only while pending" })),
    url: nullable(
      Type.String({
        description: "Where the last attempt went; before the first one, where it would go now",
        examples: ["https://backend.customer.example/hooks/chat/receiveMessage"],
      }),
    ),
    occurred_at: timestamp(),
    delivered_at: nullable(timestamp()),
  },
  { title: "EventDto" },
);

export type EventDto = Static<typeof event>;

const deliveryAttempt = object(
  {
    attempt: Type.Integer({ minimum: 1, description: "Counts on over retries" }),
    at: timestamp(),
    status_code: nullable(Type.Integer({ examples: [503], description: "Null where no answer came" })),
    duration_ms: Type.Integer({ minimum: 0, examples: [184] }),
    error,
    response_excerpt: nullable(
      Type.String({ description: "How the answer begins", examples: ["upstream connect error"] }),
    ),
  },
  { title: "DeliveryAttemptDto" },
);

/** What is sent, as it is sent: never looked into on its way out. */
const payload = Type.Object(
  {},
  {
    additionalProperties: true,
    description: "The body of each attempt, byte for byte",
    examples: [
      {
        id: "evt_01jc8m4t7v2x5k9w3r6y1b0nqd",
        type: "message.status",
        api_version: "2026-11-01",
        key: "chatapp",
        channel_id: "ch_01jc8m4t7v2x5k9w3r6y1b0nqd",
        occurred_at: "2026-11-01T09:30:00.000Z",
        data: { message_id: "msg_01jc8m4t7v2x5k9w3r6y1b0nqd", status: "delivered" },
      },
    ],
  },
);

export const eventDetail = object(
  {
    ...event.properties,
    payload,
    delivery_attempts: Type.Array(deliveryAttempt),
  },
  { title: "EventDetailDto" },
);

export type EventDetailDto = Static<typeof eventDetail>;
