import { SEND_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { asList, asObject, type Fields, jsonBody, textOf } from "../bodies.ts";
import type { PlatformClient } from "../client/client.ts";
import { type PreparedSend, prepareSend, type Receipt, recipientKind } from "../sends.ts";
import { type ChatNumber, messagingIdentity, messagingSender } from "./numbers.ts";

/** A message as the API accepts it; `content` is the platform's own object for the type. */
export interface ChatMessage {
  /** Herald's message id. Every status carries it, even when the send's response was lost. */
  id: string;
  to: string;
  type: string;
  content: unknown;
  context?: { message_id: string } | undefined;
}

export interface ChatMessages {
  prepare(number: ChatNumber, message: ChatMessage): PreparedSend;
  markRead(number: ChatNumber, messageId: string, options?: { typing?: boolean }): Promise<void>;
}

export function createChatMessages(client: PlatformClient): ChatMessages {
  const edge = ({ phoneNumberId }: ChatNumber) => `/${phoneNumberId}/messages`;
  return {
    prepare: (number, message) =>
      prepareSend(
        client,
        {
          ...messagingIdentity(number),
          effect: "create",
          method: "POST",
          path: edge(number),
          body: jsonBody(toBody(message)),
          deadline: SEND_DEADLINE_MS,
        },
        toReceipt,
      ),
    async markRead(number, messageId, { typing = false } = {}) {
      const indicator = typing ? { typing_indicator: { type: "text" } } : {};
      const body = { messaging_product: "whatsapp", status: "read", message_id: messageId, ...indicator };
      await messagingSender(client, number).change(edge(number), jsonBody(body));
    },
  };
}

/** A phone number goes to `to`, a business-scoped id to `recipient`; given both, the platform uses `to`. */
const toBody = ({ id, to, type, content, context }: ChatMessage): Fields => ({
  messaging_product: "whatsapp",
  recipient_type: "individual",
  ...(recipientKind(to, "chatapp") === "business_scoped" ? { recipient: to } : { to }),
  type,
  [type]: content,
  ...(context ? { context } : {}),
  biz_opaque_callback_data: id,
});

function toReceipt(body: unknown): Receipt | undefined {
  const platformMessageId = textOf(asObject(asList(asObject(body).messages)[0]).id);
  return platformMessageId === undefined ? undefined : { platformMessageId };
}
