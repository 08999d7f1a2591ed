import type { PlatformLookup } from "../../domain/channels/channel-access.ts";
import type { MessageIntake } from "../../domain/messages/accept-message.ts";
import { cancelMessage } from "../../domain/messages/cancel-and-discard.ts";
import { explainMessage } from "../../domain/messages/explain-message.ts";
import { toMessageDetail } from "../../domain/messages/message-content.ts";
import { readTimeline, toMessage, toQueuedMessage } from "../../domain/messages/message-timeline.ts";
import {
  ApiError,
  channelNotConnected,
  channelNotFound,
  errorOf,
  notFound,
  overloaded,
} from "../../http/api-error.ts";
import { listOf, listQuery, listReply, pageOf, pageRequest, periodOf } from "../../http/lists.ts";
import { type Operation, type Route, route } from "../../http/route.ts";
import type { QueueParts } from "../../queue/queue-status.ts";
import type { EventNotifier, MessageNotifier } from "../../queue/wake-ups.ts";
import { SEND_TTL_MS } from "../../runtime/deadlines.ts";
import { HOUR } from "../../runtime/durations.ts";
import { newId } from "../../runtime/ids.ts";
import { stringifyJson } from "../../runtime/json/json.ts";
import {
  MAX_TIMELINE_ENTRIES,
  message,
  messageDetail,
  messageExplanation,
  messageTimeline,
  queuedMessage,
} from "../../schema/messages.ts";
import { hasBatch } from "../../store/batches/batches.ts";
import { findMessage, findMessageDetail, listMessages } from "../../store/messages/messages.ts";
import {
  keyColumnsOf,
  MAX_CONTENT_BYTES,
  optionsOf,
  readSendTime,
  replayOrThrow,
  type SendTime,
  temporarilyUnavailable,
} from "./acceptance.ts";
import { createPlatformRules } from "./platform-rules.ts";
import {
  messageFilters,
  messageParams,
  type SendMessageDto,
  sendMessage,
  sendMessageDocs,
} from "./schema.ts";

interface OutboundParts extends SendParts, Omit<QueueParts, "db"> {
  notifier: EventNotifier;
  messageNotifier: MessageNotifier;
}

interface SendParts {
  intake: MessageIntake;
  platformOf: PlatformLookup;
}

const notCancellable = (status: string): ApiError =>
  new ApiError(
    "invalid_state_transition",
    `The message cannot be cancelled: ${status === "queued" ? "it is being sent" : `its status is ${status}`}`,
  );

export function outboundRoutes({ redis, tags, notifier, messageNotifier, ...parts }: OutboundParts): Route[] {
  return [
    sendRoute(parts),
    route({
      method: "get",
      path: "/api/outbound/messages",
      operationId: "listMessages",
      scope: "messages:send",
      summary: "List outbound messages, newest first",
      errors: ["not_found"],
      query: listQuery(messageFilters),
      reply: listOf(message),
      async handle({ db, caller, query, cursors }) {
        const { since, until, limit, after, before, ...values } = query;
        if (values.batch_id !== undefined && !(await hasBatch(db, caller.clientId, values.batch_id)))
          throw notFound("batch");
        const page = pageRequest(query, cursors);
        const filters = { ...values, ...periodOf(query) };
        const rows = await listMessages(db, caller.clientId, { page, filters });
        const found = pageOf(rows, page, ({ id }) => id);
        return listReply({ ...found, data: found.data.map(toMessage) }, cursors);
      },
    }),
    route({
      method: "get",
      path: "/api/outbound/messages/{message_id}",
      operationId: "getMessage",
      scope: "messages:send",
      summary: "Read a message, its status and its content",
      params: messageParams,
      reply: messageDetail,
      async handle({ db, caller, params }) {
        const row = await findMessageDetail(db, caller.clientId, params.message_id);
        if (!row) throw notFound("message");
        return toMessageDetail(row);
      },
    }),
    route({
      method: "delete",
      path: "/api/outbound/messages/{message_id}",
      operationId: "cancelMessage",
      scope: "messages:send",
      summary: "Cancel a message",
      description:
        "Cancels a message that is scheduled, queued, or waits for another try. The status `cancelled` is final, and one event `message.status` reports it. A message that is being sent at this moment, or was sent, cannot be cancelled. Cancelling twice is no error.",
      errors: ["not_found", "invalid_state_transition"],
      repeatable: true,
      params: messageParams,
      reply: message,
      async handle({ db, caller: { clientId }, params: { message_id } }) {
        await cancelMessage({ db, notifier, messageNotifier }, clientId, message_id);
        const row = await findMessage(db, clientId, message_id);
        if (!row) throw notFound("message");
        if (row.status !== "cancelled") throw notCancellable(row.status);
        return toMessage(row);
      },
    }),
    route({
      method: "get",
      path: "/api/outbound/messages/{message_id}/explanation",
      operationId: "getMessageExplanation",
      scope: "messages:send",
      summary: "Read why a message is as it is, and what to do",
      description:
        "One cause, with a sentence for people, who can change it and how. A message that the platform has takes the reason of its undelivered events. The guide on errors lists all causes.",
      params: messageParams,
      reply: messageExplanation,
      async handle({ db, caller, params: { message_id } }) {
        const explanation = await explainMessage({ db, redis, tags }, caller.clientId, message_id);
        if (!explanation) throw notFound("message");
        return explanation;
      },
    }),
    route({
      method: "get",
      path: "/api/outbound/messages/{message_id}/timeline",
      operationId: "getMessageTimeline",
      scope: "messages:send",
      summary: "Read what happened to a message, oldest first",
      description: `The acceptance, the attempts at the platform, the statuses, the events about the message and the attempts to deliver them. The time of an event is when it was recorded. The time of a status may be the platform's, but is not before that of the status before it. The response has at most ${MAX_TIMELINE_ENTRIES} entries: later attempts to deliver are left out, and \`GET /api/webhooks/events/{id}\` has them. Events are kept for a shorter time than messages.`,
      params: messageParams,
      reply: messageTimeline,
      async handle({ db, caller, params: { message_id } }) {
        const found = await readTimeline(db, caller.clientId, message_id);
        if (!found) throw notFound("message");
        return { message_id, data: found.timeline };
      },
    }),
  ];
}

function sendRoute({ intake, platformOf }: SendParts): Route {
  const rules = createPlatformRules();
  return route({
    method: "post",
    path: "/api/outbound/send",
    operationId: "sendMessage",
    scope: "messages:send",
    idempotent: "idempotency_keys",
    summary: "Send a message",
    description: `Queues the message and sends it as soon as the platform accepts it. The message fails if that takes more than ${SEND_TTL_MS / HOUR} hours. The events \`message.send_result\` and \`message.status\` report the outcome, which can also be read with \`GET /api/outbound/messages/{message_id}\`. With \`send_at\` it is \`scheduled\` until then, and the ${SEND_TTL_MS / HOUR} hours begin then. Messages to one person are sent in the order in which they were accepted, or in which their times have come. The content has at most ${MAX_CONTENT_BYTES / 1_024} KiB.`,
    errors: [
      "unsupported_message_type",
      "invalid_recipient",
      "not_found",
      "channel_disconnected",
      "overloaded",
    ],
    body: sendMessage,
    bodyDocs: sendMessageDocs,
    maxFieldBytes: MAX_CONTENT_BYTES,
    status: 202,
    reply: queuedMessage,
    loggedId: "message_id",
    location: ({ message_id }) => `/api/outbound/messages/${message_id}`,
    async handle({ db, caller: { clientId }, body, operation, requestId }) {
      const platform = await platformOf(clientId, body.channel_id);
      if (!platform) return replayOrThrow(db, clientId, { operation, error: channelNotFound() });
      rules.checkContent(platform, body);
      const kind = rules.checkRecipient(platform, body.to);
      const time = await readSendTime(db, body.send_at);
      if (time instanceof ApiError) return replayOrThrow(db, clientId, { operation, error: time });
      const message = toNewMessage(body, kind, time);
      const reply = toQueuedMessage({ ...message, platform });
      const acceptance = await intake.accept({
        client_id: clientId,
        request_id: requestId,
        ...message,
        ...(operation ? keyColumnsOf(operation, reply) : NO_KEY),
      });
      switch (acceptance.outcome) {
        case "accepted":
          return reply;
        case "known": // only possible with an Idempotency-Key
          return (operation as Operation).replay(acceptance.key);
        case "not_connected":
          throw channelNotConnected(acceptance.status);
        case "no_channel":
          throw channelNotFound();
        case "overloaded":
          throw overloaded();
        case "contended":
        case "unavailable":
          throw temporarilyUnavailable();
        case "unknown":
          throw errorOf("outcome_unknown");
      }
    },
  });
}

const NO_KEY = { key_id: null, fingerprint: null, reply_sealed: null };

const toNewMessage = (body: SendMessageDto, kind: string, { send_at, isScheduled }: SendTime) => ({
  id: newId("msg"),
  channel_id: body.channel_id,
  recipient: body.to,
  recipient_kind: kind,
  type: body.type,
  content: stringifyJson(body[body.type]),
  options: optionsOf(body),
  external_ref: body.external_ref ?? null,
  send_at,
  status: isScheduled ? ("scheduled" as const) : ("queued" as const),
});
