import { type Grant, storeActiveGrant } from "../domain/ads/ad-grants.ts";
import { type ChannelInput, connectChannels } from "../domain/channels/channels.ts";
import { changeWebhookConfig } from "../domain/tenants/webhook-configs.ts";
import { DEMO_ASSETS } from "../schema/demo-assets.ts";
import { listAdAccounts } from "../store/ads/ad-accounts.ts";
import { listChannels } from "../store/channels/channels.ts";
import type { Database } from "../store/database/database.ts";
import type { AuditActor } from "../store/tenants/audit-log.ts";
import { findWebhookConfig } from "../store/tenants/webhook-configs.ts";
import type { CommandContext } from "./command.ts";
import { operatorActor } from "./operator.ts";

const { phoneNumberId, wabaId, pageId, photoappUserId, displayPhoneNumber, templateNamespace } = DEMO_ASSETS;
const { name: displayName, chatToken, pageToken } = DEMO_ASSETS;

/** One channel of each platform. */
const CHANNELS: readonly ChannelInput[] = [
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
export async function connectDemo(context: CommandContext, clientId: string): Promise<string | null> {
  const actor = operatorActor(context, clientId);
  // Before its events are led anywhere: nobody has done this who would want to hear of it.
  if (isSandboxed(context, "AD_PLATFORM_URL") && (await hasNoAdAccount(context.db, clientId)))
    await storeActiveGrant(context, actor, GRANT);
  if (isSandboxed(context, "CHAT_PLATFORM_URL")) await connectDemoChannels(context, actor);
  const filters = { platform: "chatapp", status: "connected", page: { limit: 1 } };
  const [channel] = await listChannels(context.db, clientId, filters);
  return channel?.id ?? null;
}

async function connectDemoChannels(context: CommandContext, actor: AuditActor): Promise<void> {
  const { clientId } = actor;
  if (await hasNoChannel(context.db, clientId)) await connectChannels(context, actor, CHANNELS);
  const webhookUrl = `http://localhost:${context.config.SANDBOX_PORT}/_sandbox/inbox`;
  const { webhook_url } = await findWebhookConfig(context.db, clientId);
  if (webhook_url === null || isSandboxInbox(webhook_url))
    await changeWebhookConfig(context, actor, { webhookUrl });
}

/** Whether the sandbox plays this platform. Elsewhere its assets are unknown, and its tokens nobody's business. */
const isSandboxed = ({ config }: CommandContext, platform: "AD_PLATFORM_URL" | "CHAT_PLATFORM_URL") =>
  new URL(config[platform]).host === `localhost:${config.SANDBOX_PORT}`;

/** Of an earlier start too, when the sandbox had another port. */
const isSandboxInbox = (address: string) => /^http:\/\/localhost:\d+\/_sandbox\/inbox$/.test(address);

const hasNoChannel = async (db: Database, clientId: string) =>
  (await listChannels(db, clientId, { page: { limit: 1 } })).length === 0;

const hasNoAdAccount = async (db: Database, clientId: string) =>
  (await listAdAccounts(db, clientId, { page: { limit: 1 } })).length === 0;
