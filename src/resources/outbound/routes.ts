import { toMessage } from "../../domain/messages/message-dto.ts";
import { notFound } from "../../http/api-error.ts";
import { listOf, listQuery, listReply, pageOf, pageRequest, periodOf } from "../../http/lists.ts";
import { type Route, route } from "../../http/route.ts";
import { message } from "../../schema/messages.ts";
import type { Database } from "../../store/database/database.ts";
import { findMessage, listMessages } from "../../store/messages/messages.ts";
import { messageFilters, messageParams } from "./schema.ts";
import { type SendParts, sendRoute } from "./send-route.ts";

export interface OutboundParts extends SendParts {
  db: Database;
}

export function outboundRoutes(parts: OutboundParts): Route[] {
  const { db } = parts;
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
      async handle({ caller, query, cursors }) {
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
      async handle({ caller, params }) {
        const row = await findMessage(db, caller.clientId, params.message_id);
        if (!row) throw notFound("message");
        return toMessage(row);
      },
    }),
  ];
}
