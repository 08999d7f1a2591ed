import { newId } from "../../runtime/ids.ts";
import type { Log } from "../../runtime/log.ts";
import type { ChannelDto } from "../../schema/channels.ts";
import type { ChannelStatus, Platform } from "../../schema/enumerations.ts";
import type { DisconnectReason } from "../../schema/events/channel-events.ts";
import { toTimestamp } from "../../schema/times.ts";
import { sealChannelToken } from "../../security/sealed-tokens.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import { disconnectChannelsOfWaba } from "../../store/channels/channel-owners.ts";
import {
  type ChannelDetails,
  type ChannelRow,
  findChannel,
  insertChannel,
  lockChannelsOfAsset,
  markDisconnected,
  markTokenDead,
  reconnectChannel,
  reserveAsset,
} from "../../store/channels/channels.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import { type AuditActor, recordAudit, recordAuditOfClients } from "../../store/tenants/audit-log.ts";
import { type EventDraft, recordEvents } from "../events/record-events.ts";
import { SERVICE, serviceActor } from "../tenants/audit-actors.ts";

/**
 * Statuses of a channel:
 *
 * connected: it has a token; the client, the platform or a take-over ends it, and a dead token makes it needs_reauth.
 * needs_reauth: its token was dead and is deleted; connecting it again makes it connected.
 * disconnected: it has no token; connecting it again makes it connected.
 */

/** The asset of a channel, by the ids of its platform. */
export type ChannelAsset =
  | { platform: "chatapp"; phoneNumberId: string; wabaId: string }
  | { platform: "photoapp"; photoappUserId: string; pageId: string }
  | { platform: "socialapp"; pageId: string };

export interface ChannelInput {
  asset: ChannelAsset;
  token: string;
  displayName?: string | undefined;
  displayPhoneNumber?: string | undefined;
  templateNamespace?: string | undefined;
  externalRef?: string | undefined;
  /** The platform user who granted the token, if known. */
  platformUserId?: string | undefined;
  /** True to take the asset over from another client that has it. */
  takeOver?: boolean | undefined;
}

export type ConnectOutcome = { outcome: "connected"; row: ChannelRow } | { outcome: "taken" };

interface Parts {
  db: Database;
  secretBox: SecretBox;
}

/**
 * Reconnects the channel that the client had for the asset, or creates one. An asset of another client is
 * taken over if requested; otherwise the outcome is `taken`.
 */
export const connectChannel = (
  { db, secretBox }: Parts,
  actor: AuditActor,
  input: ChannelInput,
): Promise<ConnectOutcome> => db.transaction((tx) => connectInTransaction({ tx, secretBox }, actor, input));

/** Connects all channels in one transaction: after a crash the client has all or none. */
export const connectChannels = (
  { db, secretBox }: Parts,
  actor: AuditActor,
  inputs: readonly ChannelInput[],
): Promise<ConnectOutcome[]> =>
  db.transaction(async (tx) => {
    const outcomes: ConnectOutcome[] = [];
    for (const input of inputs) outcomes.push(await connectInTransaction({ tx, secretBox }, actor, input));
    return outcomes;
  });

interface TransactionParts {
  tx: Queryable;
  secretBox: SecretBox;
}

/** Connects a channel as connectChannel does, together with other writes of the caller's transaction. */
export async function connectInTransaction(
  { tx, secretBox }: TransactionParts,
  actor: AuditActor,
  input: ChannelInput,
): Promise<ConnectOutcome> {
  const { clientId } = actor;
  const asset = { platform: input.asset.platform, assetId: assetIdOf(input.asset) };
  await reserveAsset(tx, asset);
  const claims = await lockChannelsOfAsset(tx, clientId, asset);
  const otherOwner = claims.find(({ client_id }) => client_id !== clientId);
  if (otherOwner && !input.takeOver) return { outcome: "taken" };
  if (otherOwner) await takeOverFrom(tx, otherOwner);
  const existing = claims.find(({ client_id }) => client_id === clientId);
  const id = existing?.id ?? newId("ch");
  const content = contentOf(id, input, sealChannelToken(secretBox, id, input.token));
  const row = existing
    ? await reconnectChannel(tx, clientId, content)
    : await insertChannel(tx, clientId, { ...NO_IDS, ...input.asset, ...content });
  if (!row) return { outcome: "taken" };
  const details = { platform: asset.platform, asset_id: asset.assetId };
  await recordAudit(tx, actor, { action: "channel.connected", target: id, details });
  return { outcome: "connected", row };
}

/** The former client's audit log names the service as the actor: it must not reveal the other client. */
async function takeOverFrom(tx: Queryable, { client_id: clientId, id }: ChannelRow): Promise<void> {
  await disconnect(tx, serviceActor(clientId), { id, reason: "taken_over" });
}

const NO_IDS = { wabaId: null, pageId: null, phoneNumberId: null, photoappUserId: null };

function contentOf(id: string, input: ChannelInput, tokenSealed: string): ChannelDetails {
  const { wabaId, pageId } = { ...NO_IDS, ...input.asset };
  return {
    id,
    tokenSealed,
    wabaId,
    pageId,
    platformUserId: input.platformUserId ?? null,
    displayName: input.displayName ?? null,
    displayPhoneNumber: input.displayPhoneNumber ?? null,
    templateNamespace: input.templateNamespace ?? null,
    externalRef: input.externalRef ?? null,
  };
}

export function assetIdOf(asset: ChannelAsset): string {
  switch (asset.platform) {
    case "chatapp":
      return asset.phoneNumberId;
    case "photoapp":
      return asset.photoappUserId;
    case "socialapp":
      return asset.pageId;
  }
}

/** True when the client has such a channel. Disconnecting it twice changes nothing. */
export function disconnectChannel(db: Database, actor: AuditActor, id: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    await disconnect(tx, actor, { id, reason: "requested" });
    return (await findChannel(tx, actor.clientId, id)) !== undefined;
  });
}

/** Records nothing for a channel that was already disconnected. */
async function disconnect(
  tx: Queryable,
  actor: AuditActor,
  { id, reason }: { id: string; reason: "requested" | "taken_over" },
): Promise<void> {
  const row = await markDisconnected(tx, actor.clientId, id);
  if (!row) return;
  await recordEvents(tx, [channelDisconnected(row, reason)]);
  await auditDisconnect(tx, actor, { ...row, reason });
}

/**
 * Disconnects the client's channels of a business that the platform has removed, if they were granted by
 * then. False when there were none. Runs in the transaction that records the platform's webhook.
 */
export async function disconnectByPlatform(
  tx: Queryable,
  clientId: string,
  removal: { wabaId: string; at: Date },
): Promise<boolean> {
  const disconnected = await disconnectChannelsOfWaba(tx, clientId, removal);
  for (const row of disconnected)
    await auditDisconnect(tx, serviceActor(clientId), { ...row, reason: "platform" });
  return disconnected.length > 0;
}

type EndedChannel = Pick<ChannelRow, "client_id" | "id" | "platform" | "asset_id" | "external_ref">;

/** Runs in the transaction that disconnects the channel. */
async function auditDisconnect(
  tx: Queryable,
  actor: AuditActor,
  {
    id,
    platform,
    asset_id,
    reason,
  }: Omit<EndedChannel, "client_id" | "external_ref"> & { reason: DisconnectReason },
): Promise<void> {
  const details = { platform, asset_id, reason };
  await recordAudit(tx, actor, { action: "channel.disconnected", target: id, details });
}

const channelDisconnected = (row: EndedChannel, reason: DisconnectReason): EventDraft => ({
  clientId: row.client_id,
  type: "channel.disconnected",
  key: row.platform as Platform,
  channelId: row.id,
  channelExternalRef: row.external_ref,
  data: { reason },
});

interface DeadToken {
  channel: { client_id: string; id: string; token_sealed: string };
  /** The platform's error code, if it gave one. */
  code: number | undefined;
}

/** Marks the channel with the dead token as needs_reauth, records one event and logs it. */
export async function invalidateChannelToken(
  { db, log }: { db: Database; log: Log },
  { channel, code }: DeadToken,
): Promise<void> {
  const marked = await db.transaction(async (tx) => {
    const row = await markTokenDead(tx, channel.client_id, channel);
    if (!row) return [];
    await recordDeadTokens(tx, [row]);
    return [row];
  });
  logDeadTokens(log, marked, code);
}

/** Records an event and an audit entry for each channel. Runs in the transaction that marks them as needs_reauth. */
export async function recordDeadTokens(tx: Queryable, channels: readonly EndedChannel[]): Promise<void> {
  const reason = "token_dead";
  await recordEvents(
    tx,
    channels.map((channel) => channelDisconnected(channel, reason)),
  );
  await recordAuditOfClients(tx, SERVICE, {
    action: "channel.disconnected",
    entries: channels.map(({ client_id, id, platform, asset_id }) => ({
      clientId: client_id,
      target: id,
      details: { platform, asset_id, reason },
    })),
  });
}

/** Runs after the transaction that marked the channels as needs_reauth. */
export function logDeadTokens(
  log: Log,
  channels: readonly { client_id: string; id: string }[],
  code?: number | undefined,
): void {
  for (const { client_id: client, id: channel } of channels)
    log.warn("channel.needs_reauth", { client, channel, code });
}

/** Optional fields, which have the same name in the response and in the row. */
const OPTIONAL_FIELDS = [
  "display_name",
  "waba_id",
  "phone_number_id",
  "display_phone_number",
  "page_id",
  "photoapp_user_id",
  "template_namespace",
  "external_ref",
] as const satisfies readonly (keyof ChannelDto & keyof ChannelRow)[];

type OptionalFields = Partial<Record<(typeof OPTIONAL_FIELDS)[number], string>>;

const definedFieldsOf = (row: ChannelRow): OptionalFields =>
  Object.fromEntries(OPTIONAL_FIELDS.flatMap((name) => (row[name] === null ? [] : [[name, row[name]]])));

/** Fields that do not apply are absent, never null. */
export const toChannel = (row: ChannelRow): ChannelDto => ({
  channel_id: row.id,
  platform: row.platform as Platform,
  status: row.status as ChannelStatus,
  ...definedFieldsOf(row),
  connected_at: toTimestamp(row.connected_at),
});
