import { randomInt } from "node:crypto";
import { newWamid } from "../../../../src/sandbox/chat/people-and-message-ids.ts";
import { signWebhook } from "../../../fixtures/platforms/webhooks.ts";
import { buildRequest } from "../../load/connection.ts";

/** The ids of a chatapp number. */
export interface ChatNumber {
  phoneNumberId: string;
  wabaId: string;
}

/** One update as the chat platform sends it: a text message with an id of its own. */
function messageChange({ phoneNumberId }: ChatNumber) {
  const sender = `55119${randomInt(10_000_000, 99_999_999)}`;
  return {
    field: "messages",
    value: {
      messaging_product: "whatsapp",
      metadata: { display_phone_number: "551140041234", phone_number_id: phoneNumberId },
      contacts: [{ profile: { name: "Ana Souza" }, wa_id: sender }],
      messages: [
        {
          from: sender,
          id: newWamid("in", phoneNumberId),
          timestamp: String(Math.floor(Date.now() / 1_000)),
          type: "text",
          text: { body: "Hello, is the blue one still available in size 42?" },
        },
      ],
    },
  };
}

/** A signed webhook with this many updates of one number. */
export function webhookBody(number: ChatNumber, updates: number) {
  const changes = Array.from({ length: updates }, () => messageChange(number));
  const body = JSON.stringify({
    object: "whatsapp_business_account",
    entry: [{ id: number.wabaId, changes }],
  });
  const headers = { "content-type": "application/json", "x-hub-signature-256": signWebhook(body) };
  return { method: "POST", headers, body };
}

/** The request of such a webhook. */
export function webhookRequest(number: ChatNumber, updates: number): Buffer {
  const { headers, body } = webhookBody(number, updates);
  return buildRequest("/platform/webhook", headers, body);
}
