import type { Webhook } from "./webhooks.ts";

/** A message from a person to one of the channels. */
export interface InboundMessage {
  /** The id of a phone number, page or photo account. */
  channel: string;
  from: string;
  type: string;
  /** The value under the type's key; generated when absent. */
  content?: unknown;
}

/** A platform that receives messages for its channels. */
export interface InboundSource {
  hasChannel(channel: string): boolean;
  /**
   * Builds the webhook for the message; undefined when the app is not subscribed to it. Throws a GraphError
   * for an invalid message.
   */
  receive(message: InboundMessage): Webhook | undefined;
}
