import { DELIVERY_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";
import { EVENT_TYPES, type EventType } from "../../schema/enumerations.ts";
import { eventName } from "../../schema/events/envelope.ts";
import { EVENT_MEANINGS } from "../../schema/events/event-meanings.ts";
import { EVENT_PAYLOADS } from "../../schema/events/payloads.ts";
import type { Components, Json, Reference } from "./components.ts";
import { exampleOf } from "./example-of.ts";

export const WEBHOOK_TAG = "Event types";

interface HeaderDescription {
  description: string;
  example: string;
  optional?: true;
}

/** The headers of every event. */
const HEADERS: Readonly<Record<string, HeaderDescription>> = {
  "webhook-id": {
    description: "The id of the event, the same on every attempt.",
    example: "evt_01jc8m4t7v2x5k9w3r6y1b0nqd",
  },
  "webhook-timestamp": { description: "When this attempt was made, in Unix seconds.", example: "1793525400" },
  "webhook-signature": {
    description: "Signatures by Standard Webhooks, separated by spaces; absent while no token is set.",
    example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    optional: true,
  },
  "x-webhook-token": {
    description: "Your token; absent while none is set.",
    example: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    optional: true,
  },
  "x-webhook-event": { description: "The type of the event.", example: "message.received" },
  "x-webhook-attempt": { description: "The number of this attempt.", example: "1" },
};

const describeHeaders = (components: Components): Reference[] =>
  Object.entries(HEADERS).map(([name, { description, example, optional }]) =>
    components.share("parameters", name, {
      name,
      in: "header",
      required: optional !== true,
      description,
      schema: { type: "string" },
      example,
    }),
  );

const RESPONSES: Json = {
  "2XX": { description: "The event is delivered." },
  410: { description: "The event is failed; it is not sent again." },
  default: { description: "The attempt failed, a redirect too; the event is sent again later." },
};

/** Every event type as a webhook of the OpenAPI document. */
export const describeWebhooks = (components: Components): Record<string, Json> =>
  Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: describeEvent(type, components) }]));

function describeEvent(type: EventType, components: Components): Json {
  const schema = EVENT_PAYLOADS[type];
  const example = exampleOf(schema, type);
  return {
    operationId: `on${eventName(type)}`,
    summary: EVENT_MEANINGS[type],
    description: `Sent to a path below your \`webhook_url\`. Answer within ${DELIVERY_DEADLINE_MS / SECOND} seconds.`,
    tags: [WEBHOOK_TAG],
    security: [],
    parameters: describeHeaders(components),
    requestBody: {
      required: true,
      content: { "application/json": { schema: components.openSchema(schema), example } },
    },
    responses: RESPONSES,
  };
}
