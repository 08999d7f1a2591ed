import { newId } from "../../runtime/ids.ts";
import { sealChannelToken } from "../../security/channel-token.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import { endChannelsOfWaba } from "../../store/channels/channel-owners.ts";
import {
  type ChannelContent,
  type ChannelRow,
  findChannel,
  insertChannel,
  lockClaims,
  markDisconnected,
  markTokenDead,
  reconnectChannel,
  reserveAsset,
} from "../../store/channels/channels.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import { resumeSends } from "../../store/messages/sweep-sends.ts";
import { type Deed, recordAudit } from "../../store/tenants/audit-log.ts";
import { recordEvents } from "../events/record-events.ts";
import { serviceDeed } from "../tenants/service-actor.ts";
import { channelDisconnected, type DisconnectReason } from "./channel-events.ts";

/** What a channel speaks for, as its platform names it. */
export type ChannelAsset =
  | { platform: "chatapp"; phoneNumberId: string; wabaId: string }
  | { platform: "photoapp"; photoappUserId: string; pageId: string }
  | { platform: "socialapp"; pageId: string };

export interface ChannelWish {
  asset: ChannelAsset;
  token: string;
  displayName?: string | undefined;
  displayPhoneNumber?: string | undefined;
  templateNamespace?: string | undefined;
  externalRef?: string | undefined;
  /** The person at the platform who granted it, where known. */
  platformUserId?: string | undefined;
  /** Whether it is taken from another client that has it. */
  takeOver?: boolean | undefined;
}

export type Connection = { outcome: "connected"; row: ChannelRow } | { outcome: "taken" };

interface Parts {
  tx: Queryable;
  secretBox: SecretBox;
}

/** An asset that the client had before keeps its channel; one that another client has is taken over, or it is taken. */
export async function connectChannel(
  { tx, secretBox }: Parts,
  deed: Deed,
  wish: ChannelWish,
): Promise<Connection> {
  const { clientId } = deed.caller;
  const asset = { platform: wish.asset.platform, assetId: assetIdOf(wish.asset) };
  await reserveAsset(tx, asset);
  const claims = await lockClaims(tx, clientId, asset);
  const foreign = claims.find(({ client_id }) => client_id !== clientId);
  if (foreign && !wish.takeOver) return { outcome: "taken" };
  if (foreign) await takeFrom(tx, foreign);
  const own = claims.find(({ client_id }) => client_id === clientId);
  const id = own?.id ?? newId("ch");
  const content = contentOf(id, wish, sealChannelToken(secretBox, id, wish.token));
  const row = own
    ? await reconnectChannel(tx, clientId, content)
    : await insertChannel(tx, clientId, { ...NO_IDS, ...wish.asset, ...content });
  if (!row) return { outcome: "taken" };
  if (own) await resumeSends(tx, clientId, id);
  const details = { platform: asset.platform, asset_id: asset.assetId };
  await recordAudit(tx, deed, { action: "channel.connected", target: id, details });
  return { outcome: "connected", row };
}

const NO_IDS = { wabaId: null, pageId: null, phoneNumberId: null, photoappUserId: null };

function assetIdOf(asset: ChannelAsset): string {
  switch (asset.platform) {
    case "chatapp":
      return asset.phoneNumberId;
    case "photoapp":
      return asset.photoappUserId;
    case "socialapp":
      return asset.pageId;
  }
}

function contentOf(id: string, wish: ChannelWish, tokenSealed: string): ChannelContent {
  const { wabaId, pageId } = { ...NO_IDS, ...wish.asset };
  return {
    id,
    tokenSealed,
    wabaId,
    pageId,
    platformUserId: wish.platformUserId ?? null,
    displayName: wish.displayName ?? null,
    displayPhoneNumber: wish.displayPhoneNumber ?? null,
    templateNamespace: wish.templateNamespace ?? null,
    externalRef: wish.externalRef ?? null,
  };
}

/** Who took it is another client's business: in the former one's log it was the service. */
async function takeFrom(tx: Queryable, { client_id: clientId, id }: ChannelRow): Promise<void> {
  await end(tx, serviceDeed(clientId), { id, reason: "taken_over" });
}

type Ended = Pick<ChannelRow, "id" | "platform" | "asset_id">;

export async function auditEnd(
  tx: Queryable,
  deed: Deed,
  { id, platform, asset_id, reason }: Ended & { reason: DisconnectReason },
): Promise<void> {
  const details = { platform, asset_id, reason };
  await recordAudit(tx, deed, { action: "channel.disconnected", target: id, details });
}

/** Nothing is told of a channel that was disconnected before. */
async function end(
  tx: Queryable,
  deed: Deed,
  { id, reason }: { id: string; reason: "requested" | "taken_over" },
): Promise<void> {
  const row = await markDisconnected(tx, deed.caller.clientId, id);
  if (!row) return;
  await recordEvents(tx, [channelDisconnected(row, reason)]);
  await auditEnd(tx, deed, { ...row, reason });
}

/** The platform has cut a business off: its channels of this client that were connected by then have ended. False when none was. */
export async function endByPlatform(
  tx: Queryable,
  clientId: string,
  cut: { wabaId: string; at: Date },
): Promise<boolean> {
  const ended = await endChannelsOfWaba(tx, clientId, cut);
  for (const row of ended) await auditEnd(tx, serviceDeed(clientId), { ...row, reason: "platform" });
  return ended.length > 0;
}

/** The platform calls the channel's token dead: it must be connected again, and its client hears of it, once. */
export async function endDeadToken(
  db: Database,
  channel: { client_id: string; id: string; token_sealed: string },
): Promise<void> {
  await db.transaction(async (tx) => {
    const row = await markTokenDead(tx, channel.client_id, channel);
    if (!row) return;
    await recordEvents(tx, [channelDisconnected(row, "token_dead")]);
    await auditEnd(tx, serviceDeed(row.client_id), { ...row, reason: "token_dead" });
  });
}

/** True when the client has such a channel; disconnecting it twice changes nothing. */
export function disconnectChannel(db: Database, deed: Deed, id: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    await end(tx, deed, { id, reason: "requested" });
    return (await findChannel(tx, deed.caller.clientId, id)) !== undefined;
  });
}
