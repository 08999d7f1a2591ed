import type { Fields } from "../client/body.ts";
import type { PlatformClient } from "../client/client.ts";
import { type Speaker, speaker } from "../client/speaker.ts";

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

/** Speaks for the business; the quota of all its numbers is one. */
export const forBusiness = (client: PlatformClient, { wabaId, token, about }: ChatBusiness): Speaker =>
  speaker(client, {
    token,
    owner: "channel",
    quota: { asset: wabaId, useCase: "whatsapp" },
    ...(about ? { about } : {}),
  });
