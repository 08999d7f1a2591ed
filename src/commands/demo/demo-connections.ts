import { type Grant, storeActiveGrant } from "../../domain/ads/ad-grants.ts";
import { type ChannelInput, connectChannels } from "../../domain/channels/channels.ts";
import { changeWebhookConfig, generateSecret, readSecret } from "../../domain/tenants/webhook-configs.ts";
import { DEMO_ASSETS } from "../../schema/demo-assets.ts";
import { listAdAccounts } from "../../store/ads/ad-accounts.ts";
import { listChannels } from "../../store/channels/channels.ts";
import type { Database } from "../../store/database/database.ts";
import type { AuditActor } from "../../store/tenants/audit-log.ts";
import { findWebhookConfig } from "../../store/tenants/webhook-configs.ts";
import type { CommandContext } from "../program/command.ts";
import { operatorActor } from "../program/operator.ts";

const { phoneNumberId, wabaId, pageId, photoappUserId, displayPhoneNumber, templateNamespace } = DEMO_ASSETS;
const { name: displayName, chatToken, pageToken } = DEMO_ASSETS;

/** The demo client's channels: one of each platform. */
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

/** The grant that the owner would make in the sandbox's OAuth dialog. */
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

/** Null where the demo client has no such thing. */
export interface DemoConnections {
  /** A connected chat channel to send with. */
  chat_channel_id: string | null;
  webhook_url: string | null;
  webhook_secret: string | null;
}

/** Connects channels, an ad account and the sandbox's inbox, each where the demo client has none. */
export async function connectDemo(context: CommandContext, clientId: string): Promise<DemoConnections> {
  const actor = operatorActor(context, clientId);
  // The ad account comes before the webhook_url, so that it sends no ad_account.connected event.
  if (isSandboxed(context, "AD_PLATFORM_URL") && (await hasNoAdAccount(context.db, clientId)))
    await storeActiveGrant(context, actor, GRANT);
  if (isSandboxed(context, "CHAT_PLATFORM_URL")) await connectDemoChannels(context, actor);
  const filters = { platform: "chatapp", status: "connected", page: { limit: 1 } };
  const [channel] = await listChannels(context.db, clientId, filters);
  const config = await findWebhookConfig(context.db, clientId);
  return {
    chat_channel_id: channel?.id ?? null,
    webhook_url: config.webhook_url,
    webhook_secret: readSecret(config, context.secretBox),
  };
}

async function connectDemoChannels(context: CommandContext, actor: AuditActor): Promise<void> {
  const { clientId } = actor;
  if (await hasNoChannel(context.db, clientId)) await connectChannels(context, actor, CHANNELS);
  const { webhook_url } = await findWebhookConfig(context.db, clientId);
  if (webhook_url !== null && !isSandboxInbox(webhook_url)) return;
  const webhookUrl = `http://localhost:${context.config.SANDBOX_PORT}/_sandbox/inbox`;
  const config = await changeWebhookConfig(context, actor, { webhookUrl });
  if (readSecret(config, context.secretBox) === null) await generateSecret(context, actor, 0);
}

/** True when the sandbox simulates this platform. A real platform knows neither these assets nor these tokens. */
const isSandboxed = ({ config }: CommandContext, platform: "AD_PLATFORM_URL" | "CHAT_PLATFORM_URL") =>
  new URL(config[platform]).host === `localhost:${config.SANDBOX_PORT}`;

/** Matches any port: an earlier start may have used another one. */
const isSandboxInbox = (address: string) => /^http:\/\/localhost:\d{1,5}\/_sandbox\/inbox$/.test(address);

const hasNoChannel = async (db: Database, clientId: string) =>
  (await listChannels(db, clientId, { page: { limit: 1 } })).length === 0;

const hasNoAdAccount = async (db: Database, clientId: string) =>
  (await listAdAccounts(db, clientId, { page: { limit: 1 } })).length === 0;
