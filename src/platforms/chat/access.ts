import type { Fields } from "../client/body.ts";
import type { PlatformClient } from "../client/client.ts";
import { type CallIdentity, type PlatformSender, platformSender } from "../client/sender.ts";

/** A business on the chat platform and a token that has access to it. */
export interface ChatBusiness {
  wabaId: string;
  token: string;
  /** Ids that identify the call in the log. */
  about?: Fields;
}

/** A phone number of a business. */
export interface ChatNumber extends ChatBusiness {
  phoneNumberId: string;
}

/** Identity for management calls; all numbers of a business share one quota. */
export const businessIdentity = (business: ChatBusiness): CallIdentity => identityOf(business, "whatsapp");

/**
 * Identity for sends, which the management quota does not count: a business over that quota can still send. Sends have
 * their own backoff, so that only a wait reported by the platform holds them.
 */
export const messagingIdentity = (business: ChatBusiness): CallIdentity => identityOf(business);

const identityOf = ({ wabaId, token, about }: ChatBusiness, useCase?: string): CallIdentity => ({
  token,
  owner: "channel",
  quota: { asset: wabaId, ...(useCase === undefined ? {} : { useCase }) },
  ...(about ? { about } : {}),
});

export const businessSender = (client: PlatformClient, business: ChatBusiness): PlatformSender =>
  platformSender(client, businessIdentity(business));

export const messagingSender = (client: PlatformClient, business: ChatBusiness): PlatformSender =>
  platformSender(client, messagingIdentity(business));
