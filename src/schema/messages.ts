import { ACTORS, VERDICTS } from "./causes/cause-definition.ts";
import { CAUSE_NAMES, CAUSES, causeDocumentation, MESSAGE_ERROR_CODES } from "./causes/causes.ts";
import { externalRef } from "./channels.ts";
import {
  EVENT_TYPES,
  MESSAGE_STATUSES,
  MESSAGE_TYPES,
  MESSAGING_TYPES,
  PLATFORMS,
  RECIPIENT_KINDS,
} from "./enumerations.ts";
import {
  nullable,
  object,
  oneOf,
  openObject,
  prefixedId,
  type Static,
  type TProperties,
  Type,
  text,
  timestamp,
} from "./types.ts";

const QUEUED_EXAMPLE = {
  message_id: "msg_01jc8m4t7v2x5k9w3r6y1b0nqd",
  status: "queued",
  channel_id: "ch_01jc8m4t7v2x5k9w3r6y1b0nqd",
  platform: "chatapp",
  to: "5511988887777",
  to_type: "phone",
  external_ref: "order-1042",
  created_at: "2026-11-01T09:30:00.000Z",
} as const;

/** A message in the reply to its send request. */
export const queuedMessage = object(
  {
    message_id: prefixedId("msg"),
    status: oneOf(MESSAGE_STATUSES, {
      description:
        "`scheduled`: the message waits for its `send_at`. `accepted`: the platform accepted the message but has not sent it yet. `unknown`: the message may have reached the person; Herald waits for a status from the platform. `cancelled`: the message was cancelled before it was sent",
    }),
    channel_id: prefixedId("ch"),
    platform: oneOf(PLATFORMS),
    to: Type.String({ examples: [QUEUED_EXAMPLE.to] }),
    to_type: oneOf(RECIPIENT_KINDS, { description: "The kind of id in `to`" }),
    external_ref: nullable(externalRef),
    created_at: timestamp(),
  },
  { title: "SendMessageResponseDto", examples: [QUEUED_EXAMPLE] },
);

export type QueuedMessageDto = Static<typeof queuedMessage>;

export const messageError = object(
  {
    code: Type.Union([Type.Integer(), Type.String()], {
      description: `The platform's error number, or one of Herald's codes: ${MESSAGE_ERROR_CODES.join(", ")}`,
      examples: [131026],
    }),
    title: nullable(Type.String({ examples: ["Message undeliverable"] })),
    message: nullable(Type.String({ examples: ["The message could not be delivered"] })),
    details: nullable(Type.String({ examples: ["The number is not registered with the platform"] })),
  },
  { title: "MessageErrorDto" },
);

export type MessageErrorDto = Static<typeof messageError>;

const reachedStatus = object(
  {
    status: oneOf(MESSAGE_STATUSES),
    at: timestamp({ description: "When the message first reached this status" }),
  },
  { title: "MessageStatusDto" },
);

const MESSAGE_EXAMPLE = {
  ...QUEUED_EXAMPLE,
  status: "accepted",
  batch_id: null,
  send_at: null,
  platform_message_id: "wamid.HBgLNTUxMTk4ODg4Nzc3Nw",
  statuses: [
    { status: "queued", at: QUEUED_EXAMPLE.created_at },
    { status: "sending", at: "2026-11-01T09:30:00.040Z" },
    { status: "accepted", at: "2026-11-01T09:30:00.310Z" },
  ],
  error: null,
  attempts: 1,
} as const;

export const message = object(
  {
    ...queuedMessage.properties,
    batch_id: nullable(prefixedId("bat", { description: "The batch that the message belongs to" })),
    send_at: nullable(timestamp({ description: "When the message is to be sent; null if at once" })),
    platform_message_id: nullable(
      Type.String({
        description: "Null until the platform has accepted the message",
        examples: ["wamid.HBgLNTUxMTk4ODg4Nzc3Nw"],
      }),
    ),
    statuses: Type.Array(reachedStatus, {
      description: "The statuses that the message has reached, earliest first",
    }),
    error: nullable(messageError),
    attempts: Type.Integer({
      minimum: 0,
      description: "Number of attempts to send the message to the platform",
    }),
  },
  { title: "MessageDto", examples: [MESSAGE_EXAMPLE] },
);

export type MessageDto = Static<typeof message>;

/** A message with what is needed to send it again. */
export const messageDetail = object(
  {
    ...message.properties,
    type: oneOf(MESSAGE_TYPES),
    content: Type.Union([openObject({}), Type.Array(openObject({})), Type.Null()], {
      description:
        "The content as it was accepted, in the field named like the type; an array if the type is `contacts`. In a batch, with the fields of this message in place of the common ones. Null once it is deleted",
    }),
    context: nullable(
      object(
        { message_id: text("wamid.HBgLNTUxMTk4ODg4Nzc3Nw") },
        { description: "The message that this one replies to, by the platform's id" },
      ),
    ),
    messaging_type: nullable(oneOf(MESSAGING_TYPES, { description: "Null if the request had none" })),
    tag: nullable(text("HUMAN_AGENT", "Null if the request had none")),
  },
  {
    title: "MessageDetailDto",
    examples: [
      {
        ...MESSAGE_EXAMPLE,
        type: "text",
        content: { body: "Your order is on its way" },
        context: null,
        messaging_type: null,
        tag: null,
      },
    ],
  },
);

export type MessageDetailDto = Static<typeof messageDetail>;

const PLATFORM_ATTEMPT_OUTCOMES = ["accepted", "rejected", "retry", "unknown"] as const;

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
      batch_id: nullable(prefixedId("bat", { description: "The batch that the message belongs to" })),
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

const TIMELINE_EXAMPLE = {
  message_id: "msg_01jc8m4t7v2x5k9w3r6y1b0nqd",
  data: [
    {
      at: "2026-11-01T09:30:00.000Z",
      type: "accepted",
      request_id: "req_01jc8m4t7v2x5k9w3r6y1b0nqd",
      batch_id: null,
    },
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
  { title: "MessageTimelineDto", examples: [TIMELINE_EXAMPLE] },
);

const EXPLANATION_EXAMPLE = {
  message_id: "msg_01jc8m4t7v2x5k9w3r6y1b0nqd",
  batch_id: null,
  status: "failed",
  verdict: CAUSES.window_closed.verdict,
  cause: "window_closed",
  summary: CAUSES.window_closed.summary,
  who_acts: CAUSES.window_closed.whoActs,
  next_step: CAUSES.window_closed.nextStep,
  since: "2026-11-01T09:30:00.310Z",
  until: null,
  platform_error: {
    code: 131047,
    title: "Re-engagement message",
    message: "More than 24 hours have passed since the customer last replied",
    details: null,
  },
  documentation: causeDocumentation(CAUSES.window_closed),
} as const;

export const messageExplanation = object(
  {
    message_id: prefixedId("msg"),
    batch_id: nullable(prefixedId("bat", { description: "The batch that the message belongs to" })),
    status: oneOf(MESSAGE_STATUSES),
    verdict: oneOf(VERDICTS, {
      description:
        "`ok`: the platform has the message, or it was cancelled. `unknown`: the platform may have it. A message that is `ok` becomes `waiting` or `failed` when your backend has not got an event about it",
    }),
    cause: oneOf(CAUSE_NAMES, { description: "A stable word for the reason; more may be added" }),
    summary: text("The recipient has read the message.", "One sentence for a person; its text can change"),
    who_acts: oneOf(ACTORS, {
      description: "Who can change it. `you` are the client of Herald; `operator`: of Herald itself",
    }),
    next_step: text("No action is needed.", "What helps, for a person; its text can change"),
    since: timestamp({ description: "When this state began" }),
    until: nullable(
      timestamp({
        description: "When this state ends, or the next attempt follows, at the latest; null if not known",
      }),
    ),
    platform_error: Type.Optional(messageError),
    documentation: text(
      causeDocumentation(CAUSES.window_closed),
      "Path of the section of the guide that describes the cause, at this service",
    ),
  },
  { title: "MessageExplanationDto", examples: [EXPLANATION_EXAMPLE] },
);

export type MessageExplanationDto = Static<typeof messageExplanation>;
