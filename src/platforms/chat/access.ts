import type { Fields } from "../client/body.ts";
import type { PlatformClient } from "../client/client.ts";
import { type PlatformSender, platformSender } from "../client/sender.ts";

/** A business on the chat platform, and the token that reaches it. */
export interface ChatBusiness {
  wabaId: string;
  token: string;
  /** Ids for the log. */
  about?: Fields;
}

/** One of its numbers. */
export interface ChatNumber extends ChatBusiness {
  phoneNumberId: string;
}

/** Speaks for the business when it is managed; the quota of all its numbers is one. */
export const businessSender = (client: PlatformClient, business: ChatBusiness): PlatformSender =>
  senderWithQuota(client, business, "whatsapp");

/** Speaks for it when it sends: what is managed too much may still send. */
export const messagingSender = (client: PlatformClient, business: ChatBusiness): PlatformSender =>
  senderWithQuota(client, business, "whatsapp_messages");

const senderWithQuota = (
  client: PlatformClient,
  { wabaId, token, about }: ChatBusiness,
  useCase: string,
): PlatformSender =>
  platformSender(client, {
    token,
    owner: "channel",
    quota: { asset: wabaId, useCase },
    ...(about ? { about } : {}),
  });
