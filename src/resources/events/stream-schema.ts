import { EVENT_KEYS, EVENT_TYPES } from "../../schema/enumerations.ts";
import { anyEventPayload } from "../../schema/events/event.ts";
import { nullable, object, oneOf, prefixedId, Type, timestamp } from "../../schema/types.ts";

const MAX_WAIT_SECONDS = 25;
export const DEFAULT_LIMIT = 25;

const EXAMPLE_CURSOR = "WyI0ZjUzY2RhMTg4NGMiLCJbWzE3NjE5ODkzNjk4MDAsMTEwMDQsODIzXV0iXQ.m3Vw8kPq2rT5yXb7";

const cursor = (description: string) => Type.String({ description, examples: [EXAMPLE_CURSOR] });

export const streamQuery = object({
  types: Type.Optional(
    Type.String({
      description: "Only events of these types, separated by commas",
      examples: ["message.received,message.status"],
    }),
  ),
  keys: Type.Optional(
    Type.String({
      description: `Only events of these keys, separated by commas: ${EVENT_KEYS.join(", ")}. An event without key matches none`,
      examples: ["chatapp,photoapp"],
    }),
  ),
  channel_id: Type.Optional(prefixedId("ch", { description: "Only events of this channel" })),
  cursor: Type.Optional(cursor("Where to continue. Cannot be combined with `since`")),
  since: Type.Optional(
    timestamp({
      description:
        "Begin with the events recorded at or after this time, at most EVENT_RETENTION_DAYS ago. Default: now",
      examples: ["2026-11-01T00:00:00.000Z"],
    }),
  ),
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_WAIT_SECONDS,
      description: "JSON only: seconds to wait for the first event. Default: 0",
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      description: `JSON only: maximum number of events. Default: ${DEFAULT_LIMIT}`,
    }),
  ),
});

const item = object(
  {
    event_id: prefixedId("evt"),
    type: oneOf(EVENT_TYPES),
    key: nullable(oneOf(EVENT_KEYS)),
    path: nullable(
      Type.String({
        description: "What a delivery appends to webhook_url; null when it appends nothing",
        examples: ["/chat/receiveMessage"],
      }),
    ),
    replay: Type.Boolean({
      description: "True for an event that `POST /api/webhooks/events/{id}/retry` sends again",
    }),
    payload: anyEventPayload,
  },
  { title: "StreamItemDto" },
);

export const streamPage = object(
  {
    data: Type.Array(item, { description: "Oldest first" }),
    cursor: cursor("Where to continue, also when `data` is empty"),
    has_more: Type.Boolean({
      description: "Whether more events may follow at once; `data` may be empty meanwhile",
    }),
  },
  { title: "StreamPageDto" },
);

export const STREAM_EXAMPLE = `retry: 1000
id: ${EXAMPLE_CURSOR}

id: ${EXAMPLE_CURSOR}
event: event
data: {"event_id":"evt_01jc8m4t7v2x5k9w3r6y1b0nqd","type":"webhook.test","key":null,"path":null,"replay":false,"payload":{"id":"evt_01jc8m4t7v2x5k9w3r6y1b0nqd","type":"webhook.test","api_version":"2026-11-01","key":null,"occurred_at":"2026-11-01T09:30:00.000Z","recorded_at":"2026-11-01T09:30:00.042Z","data":{}}}

: ping
`;
