import { randomInt } from "node:crypto";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import type { BenchContext } from "../frame/context.ts";

/** A channel with its number at the platform. */
export interface BenchChannel {
  id: string;
  clientId: string;
  phoneNumberId: string;
}

/** A message to send. */
export interface OutgoingText {
  channel: BenchChannel;
  to: string;
  body: string;
}

export const CHANNEL_TOKEN = "bench-channel-token";

/** Creates channels, each of its own client. */
export const makeChannels = (context: BenchContext, count: number): Promise<BenchChannel[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const [client, phoneNumberId] = [await createClient(context.db, "Bench"), newPlatformId()];
      const id = await makeChannel(context, client, { phoneNumberId, token: CHANNEL_TOKEN });
      return { id, clientId: client.id, phoneNumberId };
    }),
  );

const TEXT = "Your order has been shipped and will arrive on Monday.";

/** Messages of all channels in turn, each to another person: one person's messages would wait for each other. */
export const textsFor = (channels: readonly BenchChannel[], count: number): OutgoingText[] => {
  const prefix = randomInt(100, 999);
  return Array.from({ length: count }, (_, index) => ({
    channel: channels[index % channels.length] as BenchChannel,
    to: `55${prefix}${String(index).padStart(8, "0")}`,
    body: TEXT,
  }));
};
