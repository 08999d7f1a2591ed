import { toChannel } from "../../domain/channels/channel-dto.ts";
import { disconnectChannel } from "../../domain/channels/channels.ts";
import { requestActor } from "../../domain/tenants/request-actor.ts";
import { channelNotFound } from "../../http/channel-errors.ts";
import { listOf, listQuery, listReply, pageOf, pageRequest } from "../../http/lists.ts";
import { type Route, route } from "../../http/route.ts";
import { channel } from "../../schema/channels.ts";
import { findChannel, listChannels } from "../../store/channels/channels.ts";
import type { ChatParts } from "./chat-call.ts";
import { markReadRoute } from "./mark-read-route.ts";
import { mediaRoutes } from "./media-routes.ts";
import { channelFilters, channelParams } from "./schema.ts";

/** Each scope that involves channels is sufficient to read them. */
const CHANNEL_READ_SCOPES = ["templates:manage", "messages:send", "webhooks:manage"] as const;

export function channelRoutes(parts: ChatParts): Route[] {
  return [
    route({
      method: "get",
      path: "/api/channels",
      operationId: "listChannels",
      scope: CHANNEL_READ_SCOPES,
      summary: "List channels, including disconnected ones, newest first",
      query: listQuery(channelFilters),
      reply: listOf(channel),
      async handle({ db, caller, query, cursors }) {
        const page = pageRequest(query, cursors);
        const rows = await listChannels(db, caller.clientId, { page, ...query });
        const found = pageOf(rows, page, ({ id }) => id);
        return listReply({ ...found, data: found.data.map(toChannel) }, cursors);
      },
    }),
    route({
      method: "get",
      path: "/api/channels/{channel_id}",
      operationId: "getChannel",
      scope: CHANNEL_READ_SCOPES,
      summary: "Read a channel",
      params: channelParams,
      reply: channel,
      async handle({ db, caller, params }) {
        const row = await findChannel(db, caller.clientId, params.channel_id);
        if (!row) throw channelNotFound();
        return toChannel(row);
      },
    }),
    route({
      method: "delete",
      path: "/api/channels/{channel_id}",
      operationId: "disconnectChannel",
      scope: "webhooks:manage",
      summary: "Disconnect a channel",
      description:
        "Erases the channel's token and sends `channel.disconnected` with the reason `requested`. Queued messages of the channel fail. The channel and its history stay readable.",
      params: channelParams,
      async handle(context) {
        const exists = await disconnectChannel(context.db, requestActor(context), context.params.channel_id);
        if (!exists) throw channelNotFound();
      },
    }),
    markReadRoute(parts),
    ...mediaRoutes(parts),
  ];
}
