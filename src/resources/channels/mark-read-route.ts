import { type Route, route } from "../../http/route.ts";
import { CHAT_REFUSALS, type ChatParts, callChat } from "./chat-call.ts";
import { channelParams, markRead } from "./schema.ts";

export const markReadRoute = (parts: ChatParts): Route =>
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
