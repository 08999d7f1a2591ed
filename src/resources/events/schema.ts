import { REPLAYABLE_STATUSES } from "../../domain/events/replay.ts";
import { EVENT_KEYS, EVENT_STATUSES, EVENT_TYPES } from "../../schema/enumerations.ts";
import { EVENT_EXAMPLE, event } from "../../schema/events/event.ts";
import { object, oneOf, prefixedId, Type, timestamp } from "../../schema/types.ts";

export const eventParams = object({ id: prefixedId("evt", { description: "The event" }) });

const since = timestamp({
  description: "Only events that occurred at or after this time",
  examples: ["2026-11-01T00:00:00.000Z"],
});

const until = timestamp({
  description: "Only events that occurred at or before this time",
  examples: ["2026-11-02T00:00:00.000Z"],
});

/** Filters of the list and of a bulk retry. */
const subjectFilters = {
  key: Type.Optional(oneOf(EVENT_KEYS, { description: "Only events of this platform or service" })),
  type: Type.Optional(oneOf(EVENT_TYPES, { description: "Only events of this type" })),
  channel_id: Type.Optional(prefixedId("ch", { description: "Only events of this channel" })),
  message_id: Type.Optional(prefixedId("msg", { description: "Only events about this outbound message" })),
};

export const eventFilters = {
  status: Type.Optional(oneOf(EVENT_STATUSES, { description: "Only events with this delivery status" })),
  ...subjectFilters,
  since: Type.Optional(since),
  until: Type.Optional(until),
};

export const retriedEvent = object(
  {
    ...event.properties,
    redispatched: Type.Boolean({
      description:
        "False while the event's key is disabled or no webhook_url is set; the event is then unchanged",
    }),
  },
  { title: "RetriedEventDto", examples: [{ ...EVENT_EXAMPLE, redispatched: true }] },
);

export const eventReplay = object(
  {
    status: Type.Optional(oneOf(REPLAYABLE_STATUSES, { description: "Default: both" })),
    ...subjectFilters,
    since,
    until: Type.Optional(until),
    dry_run: Type.Optional(
      Type.Boolean({ description: "Only count the events, without sending them again" }),
    ),
  },
  { title: "RetryEventsDto" },
);

export const replayedEvents = object(
  {
    queued: Type.Integer({ minimum: 0, description: "Events that are sent again" }),
    not_redispatched: Type.Integer({
      minimum: 0,
      description: "Events left unchanged, because their key is disabled or no webhook_url is set",
    }),
    by_type: Type.Object(
      {},
      {
        additionalProperties: Type.Integer({ minimum: 1 }),
        description: "The `queued` events of each type; types without any are left out",
        examples: [{ "message.received": 1 }],
      },
    ),
  },
  { title: "RetriedEventsDto" },
);
