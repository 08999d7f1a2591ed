import { openChatChannel, toChatNumber } from "../../domain/channels/channel-access.ts";
import { disconnectChannel, invalidateChannelToken, toChannel } from "../../domain/channels/channels.ts";
import { type ClientRequest, requestActor, toRequester } from "../../domain/tenants/audit-actors.ts";
import {
  ApiError,
  channelNotFound,
  type ErrorCode,
  PLATFORM_REFUSALS,
  requireOpened,
} from "../../http/api-error.ts";
import { listOf, listQuery, listReply, pageOf, pageRequest } from "../../http/lists.ts";
import { type Route, route } from "../../http/route.ts";
import type { ChatNumber } from "../../platforms/chat/numbers.ts";
import { withDeadTokenCheck } from "../../platforms/errors/failure.ts";
import type { Platforms } from "../../platforms/platforms.ts";
import type { Log } from "../../runtime/log.ts";
import { channel } from "../../schema/channels.ts";
import { CHANNEL_STATUSES, PLATFORMS } from "../../schema/enumerations.ts";
import { object, oneOf, prefixedId, Type } from "../../schema/types.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import { findChannel, listChannels } from "../../store/channels/channels.ts";
import type { Database } from "../../store/database/database.ts";

interface ChatParts {
  log: Log;
  secretBox: SecretBox;
  platforms: Pick<Platforms, "chat">;
}

/** Each scope that involves channels is sufficient to read them. */
const CHANNEL_READ_SCOPES = ["templates:manage", "messages:send", "webhooks:manage"] as const;

/** Error codes of a failed call on behalf of a channel. */
const CHAT_REFUSALS: readonly ErrorCode[] = ["channel_disconnected", ...PLATFORM_REFUSALS];

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

const markReadRoute = (parts: ChatParts): Route =>
  route({
    method: "post",
    path: "/api/channels/{channel_id}/read",
    operationId: "markMessageRead",
    scope: "messages:send",
    summary: "Mark a received message as read",
    description:
      "With `typing` the person also sees a typing indicator, until you send a message or a short time has passed. Only for chatapp channels.",
    params: channelParams,
    errors: CHAT_REFUSALS,
    body: markRead,
    async handle(context) {
      const { message_id, typing = false } = context.body;
      await callChat(parts, context, ({ messages }, number) =>
        messages.markRead(number, message_id, { typing }),
      );
    },
  });

const MAX_UPLOAD_BYTES = 10 * 1_048_576;

/** Keeps a received file from running as a page of this origin, whatever its type. */
const UNTRUSTED_FILE_HEADERS = {
  "Content-Disposition": "attachment",
  "Content-Security-Policy": "default-src 'none'; sandbox",
};

/** Files are streamed between caller and platform; neither direction buffers a whole file. */
function mediaRoutes(parts: ChatParts): Route[] {
  return [
    route({
      method: "get",
      path: "/api/channels/{channel_id}/media/{media_id}",
      operationId: "downloadMedia",
      scope: "messages:send",
      summary: "Download a received file",
      description:
        "Streams the file from the platform, with the Content-Type it has there. If the transfer fails midway, the connection is closed early. The platform keeps received files for 7 days. Only for chatapp channels.",
      params: mediaParams,
      errors: CHAT_REFUSALS,
      reply: { stream: true, mediaType: "*/*" },
      async handle(context) {
        const { media_id } = context.params;
        const file = await callChat(parts, context, ({ media }, number) => media.download(number, media_id));
        for (const [name, value] of Object.entries(UNTRUSTED_FILE_HEADERS)) context.setHeader(name, value);
        return file;
      },
    }),
    route({
      method: "post",
      path: "/api/channels/{channel_id}/media",
      operationId: "uploadMedia",
      scope: "messages:send",
      summary: "Upload a file to send in messages",
      description:
        "The body is the file, and the Content-Type is its type. The file is streamed to the platform, which decides which types and sizes it accepts. Only for chatapp channels.",
      params: channelParams,
      errors: CHAT_REFUSALS,
      body: { stream: true, limit: MAX_UPLOAD_BYTES, mediaTypes: ["*/*"] },
      status: 201,
      reply: uploadedMedia,
      async handle(context) {
        if (context.body.size === 0)
          throw new ApiError("validation_failed", "The body is empty: send the file as the body");
        const file = { filename: "file", ...context.body };
        return {
          media_id: await callChat(parts, context, ({ media }, number) => media.upload(number, file)),
        };
      },
    }),
  ];
}

interface ChannelRequest extends ClientRequest {
  db: Database;
  params: { channel_id: string };
}

/** Calls the platform on behalf of a connected chatapp channel. A dead token disconnects the channel. */
async function callChat<T>(
  { log, secretBox, platforms }: ChatParts,
  request: ChannelRequest,
  call: (chat: Platforms["chat"], number: ChatNumber) => Promise<T>,
): Promise<T> {
  const { db, params } = request;
  const access = requireOpened(
    await openChatChannel({ db, secretBox }, toRequester(request), params.channel_id),
  );
  return withDeadTokenCheck(
    () => call(platforms.chat, toChatNumber(access)),
    ({ platformError }) =>
      invalidateChannelToken({ db, log }, { channel: access.row, code: platformError?.code }),
  );
}

const channelFilters = {
  platform: Type.Optional(oneOf(PLATFORMS, { description: "Only channels of this platform" })),
  status: Type.Optional(
    oneOf(CHANNEL_STATUSES, { description: "Default: all, including disconnected channels" }),
  ),
};

const channelId = prefixedId("ch", { description: "The channel" });

const channelParams = object({ channel_id: channelId });

const mediaParams = object({
  channel_id: channelId,
  media_id: Type.String({
    pattern: "^\\d{1,32}$",
    description: "The platform's media id, from a received message or an upload",
    examples: ["1037543291543636"],
  }),
});

const uploadedMedia = object(
  {
    media_id: Type.String({
      description: "Use it as `id` in the content of a message; valid for 30 days",
      examples: ["1037543291543636"],
    }),
  },
  { title: "MediaUploadDto" },
);

const markRead = object({
  message_id: Type.String({
    pattern: "^[\\x21-\\x7e]{1,512}$",
    description: "The `platform_message_id` of a received message",
    examples: ["wamid.HBgNNTUxMTk4ODg4Nzc3NxUCABIYFjNFQjBDMUQ4"],
  }),
  typing: Type.Optional(
    Type.Boolean({ default: false, description: "Whether the person also sees a typing indicator" }),
  ),
});
