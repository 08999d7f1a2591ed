import { chooseStatus } from "../domain/ads/ad-accounts.ts";
import { type Grant, storeGrant } from "../domain/ads/ad-grants.ts";
import { type ChannelWish, connectChannel } from "../domain/channels/channels.ts";
import { changeWebhookConfig } from "../domain/tenants/webhook-configs.ts";
import { DEMO_ASSETS } from "../schema/demo-assets.ts";
import { listAdAccounts } from "../store/ads/ad-accounts.ts";
import { listChannels } from "../store/channels/channels.ts";
import type { Database } from "../store/database/database.ts";
import type { Deed } from "../store/tenants/audit-log.ts";
import { findWebhookConfig } from "../store/tenants/webhook-configs.ts";
import type { Desk } from "./command.ts";
import { operatorDeed } from "./operator.ts";

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

/** What its owner would have granted in the dialog. */
const GRANT: Grant = {
  platformUserId: DEMO_ASSETS.personId,
  token: DEMO_ASSETS.adToken,
  expiresAt: null,
  accounts: [
    {
      ...DEMO_ASSETS.adAccount,
      ad_account_id: `act_${DEMO_ASSETS.adAccount.account_id}`,
      business_id: DEMO_ASSETS.business.id,
      business_name: DEMO_ASSETS.business.name,
    },
  ],
};

/**
 * Connects a demo client that has no channel or no ad account at all, and leads its events to the sandbox's inbox while nothing else is set.
 * Answers the channel by which it can send, where it has one.
 */
export async function connectDemo(desk: Desk, clientId: string): Promise<string | null> {
  const deed = operatorDeed(desk, clientId);
  if (isPlayed(desk, "AD_PLATFORM_URL") && (await hasNoAdAccount(desk.db, clientId)))
    await connectAdAccount(desk, deed);
  if (isPlayed(desk, "CHAT_PLATFORM_URL")) await connectChannels(desk, deed);
  const connected = { platform: "chatapp", status: "connected", page: { limit: 1 } };
  const [channel] = await listChannels(desk.db, clientId, connected);
  return channel?.id ?? null;
}

async function connectChannels(desk: Desk, deed: Deed): Promise<void> {
  const { clientId } = deed.caller;
  if (await hasNoChannel(desk.db, clientId))
    await desk.db.transaction(async (tx) => {
      for (const wish of CHANNELS) await connectChannel({ tx, secretBox: desk.secretBox }, deed, wish);
    });
  const webhookUrl = `http://localhost:${desk.config.SANDBOX_PORT}/_sandbox/inbox`;
  const { webhook_url } = await findWebhookConfig(desk.db, clientId);
  if (webhook_url === null || isInbox(webhook_url)) await changeWebhookConfig(desk, deed, { webhookUrl });
}

/** Before its events are led anywhere: nobody has done this who would want to hear of it. */
const connectAdAccount = ({ db, secretBox }: Desk, deed: Deed): Promise<void> =>
  db.transaction(async (tx) => {
    const accounts = await storeGrant({ tx, secretBox }, deed, GRANT);
    for (const { id } of accounts) await chooseStatus(tx, deed, { id, status: "active" });
  });

/** Whether the sandbox plays this platform. Elsewhere its assets are unknown, and its tokens nobody's business. */
const isPlayed = ({ config }: Desk, platform: "AD_PLATFORM_URL" | "CHAT_PLATFORM_URL") =>
  new URL(config[platform]).host === `localhost:${config.SANDBOX_PORT}`;

/** Of an earlier start too, when the sandbox had another port. */
const isInbox = (address: string) => /^http:\/\/localhost:\d+\/_sandbox\/inbox$/.test(address);

const hasNoChannel = async (db: Database, clientId: string) =>
  (await listChannels(db, clientId, { page: { limit: 1 } })).length === 0;

const hasNoAdAccount = async (db: Database, clientId: string) =>
  (await listAdAccounts(db, clientId, { page: { limit: 1 } })).length === 0;
