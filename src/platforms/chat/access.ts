import type { Fields } from "../client/body.ts";
import type { PlatformClient } from "../client/client.ts";
import { type Speaker, speaker } from "../client/sender.ts";

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
export const forBusiness = (client: PlatformClient, business: ChatBusiness): Speaker =>
  withQuota(client, business, "whatsapp");

/** Speaks for it when it sends: what is managed too much may still send. */
export const forSending = (client: PlatformClient, business: ChatBusiness): Speaker =>
  withQuota(client, business, "whatsapp_messages");

const withQuota = (
  client: PlatformClient,
  { wabaId, token, about }: ChatBusiness,
  useCase: string,
): Speaker =>
  speaker(client, {
    token,
    owner: "channel",
    quota: { asset: wabaId, useCase },
    ...(about ? { about } : {}),
  });
