import { EVENT_TYPES, MESSAGE_STATUSES } from "../enumerations.ts";
import { messageError } from "../messages.ts";
import {
  nullable,
  object,
  oneOf,
  prefixedId,
  type Static,
  type TProperties,
  Type,
  timestamp,
} from "../types.ts";

export const PLATFORM_ATTEMPT_OUTCOMES = ["accepted", "rejected", "retry", "unknown"] as const;

/** Entries of a timeline. The delivery attempts beyond it are left out. */
export const MAX_TIMELINE_ENTRIES = 1_000;

const entry = <T extends string, P extends TProperties>(type: T, fields: P) =>
  object({ at: timestamp(), type: Type.Literal(type), ...fields });

const statusCode = nullable(
  Type.Integer({ description: "Status of the response; null without one", examples: [200] }),
);
const durationMs = Type.Integer({ minimum: 0, examples: [45] });
const attempt = Type.Integer({ minimum: 1, examples: [1] });

const timelineEntry = Type.Union(
  [
    entry("accepted", {
      request_id: nullable(
        Type.String({
          description: "The request that the message was accepted with; null if Herald did not store it",
          examples: ["req_01jc8m4t7v2x5k9w3r6y1b0nqd"],
        }),
      ),
    }),
    entry("platform_attempt", {
      attempt,
      outcome: oneOf(PLATFORM_ATTEMPT_OUTCOMES),
      status_code: statusCode,
      duration_ms: nullable(durationMs),
      error: nullable(messageError),
    }),
    entry("status", { status: oneOf(MESSAGE_STATUSES) }),
    entry("event", { event_id: prefixedId("evt"), event_type: oneOf(EVENT_TYPES) }),
    entry("delivery_attempt", {
      event_id: prefixedId("evt"),
      attempt,
      status_code: statusCode,
      duration_ms: durationMs,
      error: nullable(Type.String({ examples: ["HTTP 503"] })),
    }),
  ],
  { title: "TimelineEntryDto" },
);

export type TimelineEntryDto = Static<typeof timelineEntry>;

const EXAMPLE = {
  message_id: "msg_01jc8m4t7v2x5k9w3r6y1b0nqd",
  data: [
    { at: "2026-11-01T09:30:00.000Z", type: "accepted", request_id: "req_01jc8m4t7v2x5k9w3r6y1b0nqd" },
    { at: "2026-11-01T09:30:00.000Z", type: "status", status: "queued" },
    { at: "2026-11-01T09:30:00.040Z", type: "status", status: "sending" },
    {
      at: "2026-11-01T09:30:00.045Z",
      type: "platform_attempt",
      attempt: 1,
      outcome: "accepted",
      status_code: 200,
      duration_ms: 265,
      error: null,
    },
    { at: "2026-11-01T09:30:00.310Z", type: "status", status: "accepted" },
    {
      at: "2026-11-01T09:30:00.314Z",
      type: "event",
      event_id: "evt_01jc8m4t7v2x5k9w3r6y1b0nqd",
      event_type: "message.send_result",
    },
    {
      at: "2026-11-01T09:30:00.330Z",
      type: "delivery_attempt",
      event_id: "evt_01jc8m4t7v2x5k9w3r6y1b0nqd",
      attempt: 1,
      status_code: 200,
      duration_ms: 25,
      error: null,
    },
  ],
} as const;

export const messageTimeline = object(
  { message_id: prefixedId("msg"), data: Type.Array(timelineEntry) },
  { title: "MessageTimelineDto", examples: [EXAMPLE] },
);
