import { ApiError } from "../../http/api-error.ts";
import { type Route, route } from "../../http/route.ts";
import { CHAT_REFUSALS, type ChatParts, callChat } from "./chat-call.ts";
import { channelParams, mediaParams, uploadedMedia } from "./schema.ts";

const MAX_UPLOAD_BYTES = 10 * 1_048_576;

/** Keeps a received file from running as a page of this origin, whatever its type. */
const UNTRUSTED_FILE_HEADERS = {
  "Content-Disposition": "attachment",
  "Content-Security-Policy": "default-src 'none'; sandbox",
};

/** Files are streamed between caller and platform; neither direction buffers a whole file. */
export function mediaRoutes(parts: ChatParts): Route[] {
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
