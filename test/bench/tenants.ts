import { randomInt } from "node:crypto";
import type { EventDraft } from "../../src/domain/events/record-events.ts";
import { createKey } from "../../src/domain/tenants/api-keys.ts";
import { JsonText } from "../../src/runtime/json/json.ts";
import { newWamid } from "../../src/sandbox/chat/people-and-message-ids.ts";
import type { Scope } from "../../src/schema/enumerations.ts";
import { createClient } from "../../src/store/tenants/clients.ts";
import { signWebhook } from "../fixtures/platforms/webhooks.ts";
import { makeActor } from "../fixtures/tenants/actors.ts";
import { makeChannel, newPlatformId } from "../fixtures/tenants/channels.ts";
import type { BenchContext } from "./context.ts";

/** The header with a new API key of a client. */
export async function makeKeyHeader(
  { db }: BenchContext,
  clientId: string,
  ...scopes: [Scope, ...Scope[]]
): Promise<Record<string, string>> {
  const options = { name: "bench", scopes, expiresAt: null, production: false } as const;
  const { text } = await createKey(db, makeActor(clientId), options);
  return { "x-svc-api-key": text };
}

/** A connected chat number. */
export interface Channel {
  id: string;
  clientId: string;
  phoneNumberId: string;
  wabaId: string;
}

export const CHANNEL_TOKEN = "bench-channel-token";

/** Connects a chat number for a new client. */
export async function makeChatChannel(context: Pick<BenchContext, "db" | "config">): Promise<Channel> {
  const { id: clientId } = await createClient(context.db, "Bench");
  const number = { phoneNumberId: newPlatformId(), wabaId: newPlatformId() };
  const id = await makeChannel(context, { id: clientId }, { ...number, token: CHANNEL_TOKEN });
  return { id, clientId, ...number };
}

export const repeat = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

export const randomPhone = (): string => `55119${randomInt(10_000_000, 99_999_999)}`;

/** The text of a message to send. */
export const MESSAGE_TEXT = "Your order has been shipped and will arrive on Monday.";

/** The body of a request that sends a message of a channel to any person. */
export const makeMessage = (channelId: string): string =>
  JSON.stringify({ channel_id: channelId, to: randomPhone(), type: "text", text: { body: MESSAGE_TEXT } });

const EVENT_TEXT = "Has my order been shipped yet? It should have arrived on Monday.";

/** A received message, as the chat platform's webhook leads to. */
export const draftFor = (clientId: string, index: number): EventDraft => ({
  clientId,
  type: "message.received",
  key: "chatapp",
  data: {
    platform_message_id: `wamid.bench${index}`,
    from: { id: "5511988887777", name: "Maria Silva" },
    type: "text",
    content: { body: EVENT_TEXT },
  },
  raw: new JsonText(
    JSON.stringify({
      from: "5511988887777",
      id: `wamid.bench${index}`,
      timestamp: "1760000000",
      type: "text",
      text: { body: EVENT_TEXT },
    }),
  ),
});

/** One update as the chat platform sends it: a text message with an id of its own. */
function messageChange(phoneNumberId: string) {
  const sender = randomPhone();
  const message = {
    from: sender,
    id: newWamid("in", phoneNumberId),
    timestamp: String(Math.floor(Date.now() / 1_000)),
    type: "text",
    text: { body: "Hello, is the blue one still available in size 42?" },
  };
  return {
    field: "messages",
    value: {
      messaging_product: "whatsapp",
      metadata: { display_phone_number: "551140041234", phone_number_id: phoneNumberId },
      contacts: [{ profile: { name: "Ana Souza" }, wa_id: sender }],
      messages: [message],
    },
  };
}

/** A signed webhook with this many updates of one number. */
export function makeWebhook(
  { phoneNumberId, wabaId }: Pick<Channel, "phoneNumberId" | "wabaId">,
  updates: number,
) {
  const changes = repeat(updates, () => messageChange(phoneNumberId));
  const body = JSON.stringify({ object: "whatsapp_business_account", entry: [{ id: wabaId, changes }] });
  const headers = { "content-type": "application/json", "x-hub-signature-256": signWebhook(body) };
  return { path: "/platform/webhook", headers, body };
}
