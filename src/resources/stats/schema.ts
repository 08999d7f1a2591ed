import { BREAKER_STATES, EVENT_KEYS, STATS_INTERVALS } from "../../schema/enumerations.ts";
import { failureGroup } from "../../schema/failures.ts";
import {
  nullable,
  object,
  oneOf,
  prefixedId,
  type TProperties,
  Type,
  timestamp,
} from "../../schema/types.ts";

const interval = oneOf(STATS_INTERVALS, { description: "Length of an interval; days are those of UTC" });

const period = {
  since: Type.Optional(
    timestamp({
      description: "Start of the period, at most 92 days before `until`. Default: 24 hours before `until`",
      examples: ["2026-11-01T00:00:00.000Z"],
    }),
  ),
  until: Type.Optional(
    timestamp({ description: "End of the period. Default: now", examples: ["2026-11-02T00:00:00.000Z"] }),
  ),
  interval: Type.Optional({ ...interval, default: "hour" }),
};

export const messageStatsQuery = object({
  ...period,
  channel_id: Type.Optional(prefixedId("ch", { description: "Only messages of this channel" })),
  batch_id: Type.Optional(
    prefixedId("bat", { description: "Only messages of this batch; these figures are live" }),
  ),
});

export const eventStatsQuery = object({
  ...period,
  key: Type.Optional(oneOf(EVENT_KEYS, { description: "Only events of this platform or service" })),
});

const count = (description: string) => Type.Integer({ minimum: 0, description });

const messageCounts = {
  accepted: count("Messages accepted in the interval: the sum of the other figures"),
  sent: count("The platform has the message: status accepted, sent, delivered or read"),
  failed: count("The message failed"),
  unknown: count("The platform may have the message"),
  cancelled: count("The message was cancelled before it was sent"),
  waiting: count("The message is still to be sent, or scheduled"),
};

const eventCounts = {
  accepted: count("Events recorded in the interval: the sum of the other figures"),
  delivered: count("Your backend has accepted the event"),
  failed: count("The event was not delivered and is not retried"),
  skipped: count("The event's key is disabled, or no webhook_url was set"),
  waiting: count("The event is still to be delivered"),
};

const start = timestamp({ description: "Start of the interval", examples: ["2026-11-01T09:00:00.000Z"] });

const statsReply = <C extends TProperties, D extends TProperties>(title: string, counts: C, dimension: D) =>
  object(
    {
      since: timestamp({ description: "Start of the first interval" }),
      until: timestamp({ description: "End of the last interval" }),
      interval,
      updated_at: timestamp({
        description: "The figures include everything that happened before this time, and may include more",
      }),
      totals: object(counts, { title: `${title}TotalsDto` }),
      data: Type.Array(object({ start, ...dimension, ...counts }, { title: `${title}RowDto` }), {
        description: "Oldest first; intervals without any are left out",
      }),
    },
    { title: `${title}Dto` },
  );

export const messageStats = statsReply("MessageStats", messageCounts, {
  channel_id: prefixedId("ch"),
});

const eventKey = nullable(
  oneOf(EVENT_KEYS, { description: "The platform or service; null for tests of the bare webhook_url" }),
);

export const eventStats = statsReply("EventStats", eventCounts, { key: eventKey });

export const failuresQuery = object({
  since: Type.Optional(
    timestamp({
      description:
        "Only failures at or after this time, at most 31 days before `until`. Default: 24 hours before `until`",
      examples: ["2026-11-01T00:00:00.000Z"],
    }),
  ),
  until: Type.Optional(
    timestamp({
      description: "Only failures at or before this time. Default: now",
      examples: ["2026-11-02T00:00:00.000Z"],
    }),
  ),
});

export const failures = object(
  { data: Type.Array(failureGroup, { description: "Most frequent first, at most 50" }) },
  { title: "FailuresDto" },
);

export const queueStats = object(
  {
    held: Type.Boolean({ description: "The operator has stopped all deliveries for the moment" }),
    oldest_message_at: nullable(
      timestamp({
        description:
          "When the oldest message that waits to be sent was accepted; scheduled messages do not count. Null without any, and for callers without `messages:send`",
      }),
    ),
    data: Type.Array(
      object(
        {
          key: eventKey,
          waiting: count("Events that are still to be delivered"),
          oldest_waiting_at: nullable(timestamp({ description: "When the oldest of them was accepted" })),
          breaker: oneOf(BREAKER_STATES, {
            description:
              "Circuit breaker of your backend. `open`: it failed too often and gets no events for a while; `half_open`: one event tests it",
          }),
          origin: nullable(
            Type.String({
              description: "Scheme, host and port of your backend; null while the breaker is closed",
              examples: ["https://backend.example"],
            }),
          ),
          next_probe_at: nullable(
            timestamp({
              description: "When the next event tests your backend; null unless the breaker is open",
            }),
          ),
        },
        { title: "KeyQueueDto" },
      ),
    ),
  },
  { title: "QueueStatsDto" },
);
