import { toMessage } from "../../domain/messages/message-dto.ts";
import { readTimeline } from "../../domain/messages/message-timeline.ts";
import { notFound } from "../../http/api-error.ts";
import { listOf, listQuery, listReply, pageOf, pageRequest, periodOf } from "../../http/lists.ts";
import { type Route, route } from "../../http/route.ts";
import { MAX_TIMELINE_ENTRIES, messageTimeline } from "../../schema/history/message-timeline.ts";
import { message } from "../../schema/messages.ts";
import { findMessage, listMessages } from "../../store/messages/messages.ts";
import { messageFilters, messageParams } from "./schema.ts";
import { type SendParts, sendRoute } from "./send-route.ts";

export function outboundRoutes(parts: SendParts): Route[] {
  return [
    sendRoute(parts),
    route({
      method: "get",
      path: "/api/outbound/messages",
      operationId: "listMessages",
      scope: "messages:send",
      summary: "List outbound messages, newest first",
      query: listQuery(messageFilters),
      reply: listOf(message),
      async handle({ db, caller, query, cursors }) {
        const { since, until, limit, after, before, ...values } = query;
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
      summary: "Read a message and its status",
      params: messageParams,
      reply: message,
      async handle({ db, caller, params }) {
        const row = await findMessage(db, caller.clientId, params.message_id);
        if (!row) throw notFound("message");
        return toMessage(row);
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
