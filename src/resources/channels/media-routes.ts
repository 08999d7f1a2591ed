import { ApiError } from "../../http/api-error.ts";
import { type Route, route } from "../../http/route.ts";
import { CHAT_REFUSALS, type ChatParts, callChat } from "./chat-call.ts";
import { channelParams, mediaParams, uploadedMedia } from "./schema.ts";

const MAX_UPLOAD_BYTES = 10 * 1_048_576;

/** Somebody's file must not act as a page of ours, whatever it says it is. */
const UNTRUSTED_FILE_HEADERS = {
  "Content-Disposition": "attachment",
  "Content-Security-Policy": "default-src 'none'; sandbox",
};

/** Files of a channel pass through from one side to the other; neither direction holds one in memory. */
export function mediaRoutes(parts: ChatParts): Route[] {
  return [
    route({
      method: "get",
      path: "/api/channels/{channel_id}/media/{media_id}",
      scope: "messages:send",
      summary: "Download a file that was received",
      description:
        "Streams the file from the platform, with the Content-Type it has there; chatapp channels only. Should it break off in the middle, so does the connection. The platform keeps what was received for 7 days.",
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
      scope: "messages:send",
      summary: "Upload a file, to be sent in messages",
      description:
        "The body is the file itself, the Content-Type its type. It is streamed to the platform, which decides what it takes; chatapp channels only.",
      params: channelParams,
      errors: CHAT_REFUSALS,
      body: { stream: true, limit: MAX_UPLOAD_BYTES, mediaTypes: ["*/*"] },
      status: 201,
      reply: uploadedMedia,
      async handle(context) {
        if (context.body.size === 0)
          throw new ApiError("validation_failed", "The body is empty: it must be the file");
        const file = { filename: "file", ...context.body };
        return {
          media_id: await callChat(parts, context, ({ media }, number) => media.upload(number, file)),
        };
      },
    }),
  ];
}
