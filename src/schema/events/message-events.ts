import { BATCH_EXAMPLE, batchState } from "../batches.ts";
import { MESSAGE_STATUSES, PLATFORMS } from "../enumerations.ts";
import { messageError } from "../messages.ts";
import { knownOrOther, nullable, object, oneOf, openObject, prefixedId, Type, timestamp } from "../types.ts";
import { channelEnvelope, EXAMPLE_CHANNEL, EXAMPLE_TIME, eventPayload } from "./envelope.ts";
import { CONTENT_BY_TYPE } from "./message-content.ts";

const [PERSON, MESSAGE_ID] = ["5511988887777", "msg_01jc8m4t7v2x5k9w3r6y1b0nqd"];
const PLATFORM_MESSAGE_ID = "wamid.HBgLNTUxMTk4ODg4Nzc3Nw";

const at = Type.Optional(timestamp({ description: "When it happened, by the platform's clock" }));

export const personFields = {
  id: Type.Optional(
    Type.String({
      examples: [PERSON],
      description: "Use it as `to` of an answer: the phone number, or a scoped id",
    }),
  ),
  phone: Type.Optional(
    Type.String({ examples: [PERSON], description: "chatapp only: digits with country code" }),
  ),
  business_scoped_id: Type.Optional(
    Type.String({ examples: ["US.13491208655302741918"], description: "chatapp only" }),
  ),
};

const sender = object(
  {
    ...personFields,
    username: Type.Optional(Type.String({ examples: ["ana"] })),
    name: Type.Optional(Type.String({ examples: ["Ana"] })),
  },
  { title: "Sender" },
);

/** An error of a message, in the platform's format. */
const platformNotice = openObject(
  {
    code: Type.Optional(
      Type.Unknown({ examples: [131026], description: "The platform's number, or Herald's code" }),
    ),
    title: Type.Optional(Type.Unknown({ examples: ["Message undeliverable"] })),
    message: Type.Optional(Type.Unknown({ examples: ["Message undeliverable"] })),
    error_data: Type.Optional(Type.Unknown({ examples: [{ details: "The number is not on the platform" }] })),
  },
  { title: "MessageNotice" },
);

const receivedMessage = object(
  {
    platform_message_id: Type.Optional(
      Type.String({
        examples: [PLATFORM_MESSAGE_ID],
        description: "Use it in `context` of an answer. Of a reaction: the message reacted to",
      }),
    ),
    from: sender,
    to: Type.Optional(Type.String({ examples: [PERSON], description: "The recipient of an echo" })),
    type: Type.String({
      examples: ["text", "image", "interactive", "postback", "reaction", "echo"],
      description:
        "The platform's type, such as text, image or interactive; `echo` for a message that the business sent elsewhere; `postback`; `reaction`",
    }),
    content: Type.Unknown({
      examples: [{ body: "Hello" }],
      description:
        "What the platform sends for this type: of a text on chatapp, an object with `body`; null when there is none",
    }),
    context: Type.Optional(
      openObject(
        {
          message_id: Type.Optional(
            Type.String({ examples: [PLATFORM_MESSAGE_ID], description: "The message replied to" }),
          ),
        },
        { title: "MessageContext" },
      ),
    ),
    referral: Type.Optional(
      openObject(
        {},
        {
          title: "MessageReferral",
          examples: [{ ctwa_clid: "ARA1" }],
          description: "The ad or link with which the chat began",
        },
      ),
    ),
    group_id: Type.Optional(Type.String({ examples: ["120363000000000001"] })),
    errors: Type.Optional(
      Type.Array(platformNotice, { description: "Why the platform does not pass on the content" }),
    ),
    at,
  },
  { title: "ReceivedMessageData", "x-variants": CONTENT_BY_TYPE },
);

const messageStatus = object(
  {
    message_id: nullable(
      prefixedId("msg", { description: "Null when the message was not sent through Herald" }),
    ),
    platform_message_id: nullable(Type.String({ examples: [PLATFORM_MESSAGE_ID] })),
    status: knownOrOther(
      oneOf(
        MESSAGE_STATUSES.filter((status) =>
          ["sent", "delivered", "read", "failed", "cancelled"].includes(status),
        ),
        {
          description:
            "The platform's word; `played` and others are possible. `cancelled`: you cancelled the message before it was sent",
        },
      ),
    ),
    at,
    recipient: nullable(Type.String({ examples: [PERSON] })),
    errors: Type.Array(platformNotice, { description: "Why the message failed; empty for other statuses" }),
    pricing: Type.Optional(
      Type.Unknown({
        examples: [{ category: "utility", pricing_model: "PMP" }],
        description: "chatapp only",
      }),
    ),
  },
  { title: "MessageStatusData" },
);

const sendResult = object(
  {
    message_id: prefixedId("msg"),
    outcome: oneOf(["accepted", "rejected", "unknown"], {
      description: "`unknown`: the message may have been sent; Herald does not send it again",
    }),
    platform_message_id: Type.Optional(Type.String({ examples: [PLATFORM_MESSAGE_ID] })),
    error: Type.Optional(messageError),
  },
  { title: "SendResultData" },
);

export const MESSAGE_PAYLOADS = {
  "message.received": eventPayload("message.received", {
    ...channelEnvelope(PLATFORMS),
    data: receivedMessage,
    example: {
      channel_id: EXAMPLE_CHANNEL,
      data: {
        platform_message_id: PLATFORM_MESSAGE_ID,
        from: { id: PERSON, phone: PERSON, name: "Ana" },
        type: "text",
        content: { body: "Oi" },
        at: EXAMPLE_TIME,
      },
      raw: {
        from: PERSON,
        id: PLATFORM_MESSAGE_ID,
        timestamp: "1793525400",
        type: "text",
        text: { body: "Oi" },
      },
    },
  }),
  "message.status": eventPayload("message.status", {
    ...channelEnvelope(PLATFORMS),
    sometimes: ["external_ref", "channel_external_ref", "raw"],
    data: messageStatus,
    example: {
      channel_id: EXAMPLE_CHANNEL,
      external_ref: "order-1042",
      data: {
        message_id: MESSAGE_ID,
        platform_message_id: PLATFORM_MESSAGE_ID,
        status: "delivered",
        at: EXAMPLE_TIME,
        recipient: PERSON,
        errors: [],
      },
      raw: { id: PLATFORM_MESSAGE_ID, status: "delivered", timestamp: "1793525400", recipient_id: PERSON },
    },
  }),
  "message.send_result": eventPayload("message.send_result", {
    keys: PLATFORMS,
    always: ["channel_id"],
    sometimes: ["external_ref", "channel_external_ref"],
    data: sendResult,
    example: {
      channel_id: EXAMPLE_CHANNEL,
      external_ref: "order-1042",
      data: { message_id: MESSAGE_ID, outcome: "accepted", platform_message_id: PLATFORM_MESSAGE_ID },
    },
  }),
  "batch.updated": eventPayload("batch.updated", {
    keys: PLATFORMS,
    always: ["channel_id"],
    sometimes: ["channel_external_ref"],
    data: object(batchState, { title: "BatchUpdate" }),
    example: {
      channel_id: EXAMPLE_CHANNEL,
      data: {
        batch_id: BATCH_EXAMPLE.batch_id,
        name: BATCH_EXAMPLE.name,
        status: "paused",
        pause_reason: "template",
        counts: BATCH_EXAMPLE.counts,
      },
    },
  }),
};
