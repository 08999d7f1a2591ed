import type { Fields } from "../client/body.ts";
import type { PlatformClient } from "../client/client.ts";
import { type CallIdentity, type PlatformSender, platformSender } from "../client/sender.ts";

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

/** Of calls that manage the business; the quota of all its numbers is one. */
export const businessIdentity = (business: ChatBusiness): CallIdentity => identityOf(business, "whatsapp");

/** Of calls that send: a business whose management quota is used up may still send. */
export const messagingIdentity = (business: ChatBusiness): CallIdentity =>
  identityOf(business, "whatsapp_messages");

const identityOf = ({ wabaId, token, about }: ChatBusiness, useCase: string): CallIdentity => ({
  token,
  owner: "channel",
  quota: { asset: wabaId, useCase },
  ...(about ? { about } : {}),
});

export const businessSender = (client: PlatformClient, business: ChatBusiness): PlatformSender =>
  platformSender(client, businessIdentity(business));

export const messagingSender = (client: PlatformClient, business: ChatBusiness): PlatformSender =>
  platformSender(client, messagingIdentity(business));
