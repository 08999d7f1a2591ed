import { type Grant, storeActiveGrant } from "../domain/ads/ad-grants.ts";
import { type ChannelInput, connectChannels } from "../domain/channels/channels.ts";
import { createKey } from "../domain/tenants/api-keys.ts";
import { acceptTerms } from "../domain/tenants/terms.ts";
import { changePassword, createClientWithOwner } from "../domain/tenants/users.ts";
import { changeWebhookConfig, generateSecret, readSecret } from "../domain/tenants/webhook-configs.ts";
import { isSandboxed } from "../runtime/config/config.ts";
import { DEMO_ASSETS } from "../schema/demo-assets.ts";
import { SCOPES } from "../schema/enumerations.ts";
import { isMatchingSecret, parseApiKey } from "../security/api-keys.ts";
import { generatePassword } from "../security/passwords.ts";
import { listAdAccounts } from "../store/ads/ad-accounts.ts";
import { listChannels } from "../store/channels/channels.ts";
import type { Database } from "../store/database/database.ts";
import { applyMigrations } from "../store/database/migrations.ts";
import { findApiKeyCredential, isActiveApiKey } from "../store/tenants/api-keys.ts";
import type { AuditActor } from "../store/tenants/audit-log.ts";
import { readTermsStatus } from "../store/tenants/terms.ts";
import { findUserByEmail, type UserCredentialRow } from "../store/tenants/users.ts";
import { findWebhookConfig } from "../store/tenants/webhook-configs.ts";
import {
  type Command,
  type CommandContext,
  CommandError,
  defineCommand,
  operatorActor,
  overloadedError,
} from "./command-line/command.ts";

const EMAIL = "owner@example.com";
const KEY_INPUT = { name: "Demo key", scopes: SCOPES, expiresAt: null, production: false };

interface Demo extends DemoConnections {
  client_id: string;
  email: string;
  password: string;
  api_key: string;
}

/** The demo client's connections; null where it has none. */
interface DemoConnections {
  /** A connected chat channel to send with. */
  chat_channel_id: string | null;
  webhook_url: string | null;
  webhook_secret: string | null;
}

/**
 * Keeps the password and key that DEMO_PASSWORD and DEMO_API_KEY carry from the last start, and replaces them where they
 * are missing or no longer valid: an interrupted start is completed by the next one.
 */
export const DEMO_COMMAND: Command = defineCommand({
  name: "demo",
  summary: "Apply migrations and create or find the demo client; not in production",
  options: {},
  async run(_, context): Promise<Demo> {
    if (context.config.NODE_ENV === "production")
      throw new CommandError("there is no demo client in production");
    await applyMigrations(context.config.DATABASE_DIRECT_URL);
    const { client_id, password } = await ensureClient(context);
    const api_key = await ensureKey(context, client_id);
    await acceptDemoTerms(context, client_id);
    const connections = await connectDemo(context, client_id);
    return { client_id, email: EMAIL, password, api_key, ...connections };
  },
});

/** Creates the client and its owner in one transaction: the next start finds both by the owner's email. */
async function ensureClient(context: CommandContext): Promise<Pick<Demo, "client_id" | "password">> {
  const owner = await findUserByEmail(context.db, EMAIL);
  if (owner) return { client_id: owner.client_id, password: await ensurePassword(context, owner) };
  const password = generatePassword();
  const created = await createClientWithOwner(context, {
    name: "Demo client",
    owner: { email: EMAIL, name: "Demo owner", password },
    actorOf: (clientId) => operatorActor(context, clientId),
  });
  switch (created.outcome) {
    case "created":
      return { client_id: created.client.id, password };
    case "email_taken":
      throw new CommandError("another process has just created the demo client; run this again");
    case "overloaded":
      throw overloadedError();
  }
}

async function ensurePassword(context: CommandContext, owner: UserCredentialRow): Promise<string> {
  const { DEMO_PASSWORD: storedPassword } = context.env;
  if (storedPassword) {
    const { outcome } = await context.passwords.check(storedPassword, owner.password_hash);
    if (outcome === "matches") return storedPassword;
    if (outcome === "overloaded") throw overloadedError();
  }
  const password = generatePassword();
  const input = { id: owner.id, password };
  const { outcome } = await changePassword(context, operatorActor(context, owner.client_id), input);
  if (outcome === "overloaded") throw overloadedError();
  if (outcome === "not_found")
    throw new CommandError("the demo client's owner has just been deleted; run this again");
  return password;
}

async function ensureKey(context: CommandContext, clientId: string): Promise<string> {
  const { DEMO_API_KEY: storedKey = "" } = context.env;
  const presented = parseApiKey(storedKey);
  const row = presented && (await findApiKeyCredential(context.db, presented.id));
  const isOwnKey = row?.client_id === clientId && isMatchingSecret(presented?.secret ?? "", row.secret_hash);
  if (isOwnKey && isActiveApiKey(row)) return storedKey;
  const { text } = await createKey(context.db, operatorActor(context, clientId), KEY_INPUT);
  return text;
}

/** Accepts the terms once. The demo owner accepts later versions like every other owner. */
async function acceptDemoTerms(context: CommandContext, clientId: string): Promise<void> {
  const owner = await findUserByEmail(context.db, EMAIL);
  if (owner?.role !== "owner" || (await readTermsStatus(context.db, clientId)).accepted_at !== null) return;
  await acceptTerms(context.db, operatorActor(context, clientId), owner);
}

/**
 * Connects channels, an ad account and the sandbox's inbox, each where the demo client has none. A real platform knows
 * neither these assets nor these tokens.
 */
async function connectDemo(context: CommandContext, clientId: string): Promise<DemoConnections> {
  const actor = operatorActor(context, clientId);
  // The ad account comes before the webhook_url, so that it sends no ad_account.connected event.
  if (isSandboxed(context.config, "AD_PLATFORM_URL") && (await hasNoAdAccount(context.db, clientId)))
    await storeActiveGrant(context, actor, GRANT);
  if (isSandboxed(context.config, "CHAT_PLATFORM_URL")) await connectDemoChannels(context, actor);
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

/** Matches any port: an earlier start may have used another one. */
const isSandboxInbox = (address: string) => /^http:\/\/localhost:\d{1,5}\/_sandbox\/inbox$/.test(address);

const hasNoChannel = async (db: Database, clientId: string) =>
  (await listChannels(db, clientId, { page: { limit: 1 } })).length === 0;

const hasNoAdAccount = async (db: Database, clientId: string) =>
  (await listAdAccounts(db, clientId, { page: { limit: 1 } })).length === 0;
