import type { Webhook } from "./webhooks.ts";

/** A message that somebody outside sends to one of the channels. */
export interface InboundMessage {
  /** A phone number's id, a page's or a photo account's. */
  channel: string;
  from: string;
  type: string;
  /** What stands under the type; without it something of that type. */
  content?: unknown;
}

/** A platform that receives messages for its channels. */
export interface InboundSource {
  hasChannel(channel: string): boolean;
  /** Makes the webhook that tells of it, if the app hears of such; throws a GraphError for what cannot be. */
  receive(message: InboundMessage): Webhook | undefined;
}
