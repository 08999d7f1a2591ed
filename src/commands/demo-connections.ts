import { DEMO_ASSETS } from "../schema/demo-assets.ts";
import { listChannels } from "../store/channels.ts";
import type { Database } from "../store/database.ts";
import { findWebhookConfig } from "../store/webhook-configs.ts";
import { type ChannelWish, connectChannel } from "../tenancy/channels.ts";
import { changeWebhookConfig } from "../tenancy/webhook-configs.ts";
import { operatorDeed } from "./operator.ts";
import type { Desk } from "./verb.ts";

const { phoneNumberId, wabaId, pageId, photoappUserId, displayPhoneNumber, templateNamespace } = DEMO_ASSETS;
const { name: displayName, chatToken, pageToken } = DEMO_ASSETS;

/** One channel of each platform. */
const CHANNELS: readonly ChannelWish[] = [
  {
    asset: { platform: "chatapp", phoneNumberId, wabaId },
    token: chatToken,
    displayName,
    displayPhoneNumber,
    templateNamespace,
  },
  { asset: { platform: "photoapp", photoappUserId, pageId }, token: pageToken, displayName },
  { asset: { platform: "socialapp", pageId }, token: pageToken, displayName },
];

/**
 * Connects a demo client that has no channel at all, and leads its events to the sandbox's inbox while nothing else is set.
 * Answers the channel by which it can send, where it has one.
 */
export async function connectDemo(desk: Desk, clientId: string): Promise<string | null> {
  if (playsPlatforms(desk)) await connectToSandbox(desk, clientId);
  const connected = { platform: "chatapp", status: "connected", page: { limit: 1 } };
  const [channel] = await listChannels(desk.db, clientId, connected);
  return channel?.id ?? null;
}

async function connectToSandbox(desk: Desk, clientId: string): Promise<void> {
  const deed = operatorDeed(desk, clientId);
  if (await hasNoChannel(desk.db, clientId))
    await desk.db.transaction(async (tx) => {
      for (const wish of CHANNELS) await connectChannel({ tx, secretBox: desk.secretBox }, deed, wish);
    });
  const webhookUrl = `http://localhost:${desk.config.SANDBOX_PORT}/_sandbox/inbox`;
  const { webhook_url } = await findWebhookConfig(desk.db, clientId);
  if (webhook_url === null || isInbox(webhook_url)) await changeWebhookConfig(desk, deed, { webhookUrl });
}

/** Elsewhere its assets are unknown, and its tokens nobody's business. */
const playsPlatforms = ({ config }: Desk) =>
  new URL(config.CHAT_PLATFORM_URL).host === `localhost:${config.SANDBOX_PORT}`;

/** Of an earlier start too, when the sandbox had another port. */
const isInbox = (address: string) => /^http:\/\/localhost:\d+\/_sandbox\/inbox$/.test(address);

const hasNoChannel = async (db: Database, clientId: string) =>
  (await listChannels(db, clientId, { page: { limit: 1 } })).length === 0;
