import { REPLAYABLE_STATUSES } from "../../domain/events/replay.ts";
import { EVENT_KEYS, EVENT_STATUSES, EVENT_TYPES } from "../../schema/enumerations.ts";
import { EVENT_EXAMPLE, event } from "../../schema/events.ts";
import { object, oneOf, prefixedId, Type, timestamp } from "../../schema/types.ts";

export const eventParams = object({ id: prefixedId("evt") });

const since = timestamp({
  description: "Occurred then or later",
  examples: ["2026-11-01T00:00:00.000Z"],
});

const until = timestamp({
  description: "Occurred then or earlier",
  examples: ["2026-11-02T00:00:00.000Z"],
});

export const eventFilters = {
  status: Type.Optional(oneOf(EVENT_STATUSES)),
  key: Type.Optional(oneOf(EVENT_KEYS)),
  type: Type.Optional(oneOf(EVENT_TYPES)),
  channel_id: Type.Optional(prefixedId("ch")),
  message_id: Type.Optional(prefixedId("msg", { description: "The message of yours that it is about" })),
  since: Type.Optional(since),
  until: Type.Optional(until),
};

export const retriedEvent = object(
  {
    ...event.properties,
    redispatched: Type.Boolean({
      description: "False while its key is switched off or no webhook_url is set; it then stays as it was",
    }),
  },
  { title: "RetriedEventDto", examples: [{ ...EVENT_EXAMPLE, redispatched: true }] },
);

export const eventReplay = object(
  {
    status: Type.Optional(oneOf(REPLAYABLE_STATUSES, { description: "Absent: both" })),
    key: Type.Optional(oneOf(EVENT_KEYS)),
    since,
    until: Type.Optional(until),
    dry_run: Type.Optional(Type.Boolean({ description: "Count only" })),
  },
  { title: "RetryEventsDto" },
);

export const replayedEvents = object(
  {
    queued: Type.Integer({ minimum: 0, description: "Will be sent again" }),
    not_redispatched: Type.Integer({
      minimum: 0,
      description: "Stay as they are, because their key is switched off or no webhook_url is set",
    }),
  },
  { title: "RetriedEventsDto" },
);
