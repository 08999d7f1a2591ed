import type { Asset, Reading } from "../../platforms/webhooks/updates.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import { findAdAccountOwners } from "../../store/ads/ad-accounts.ts";
import { type ChannelOwnerRow, findChannelOwners } from "../../store/channels/channel-owners.ts";
import type { Queryable } from "../../store/database/database.ts";

/** A client that an update concerns. */
export interface Owner {
  clientId: string;
  channelId?: string;
  adAccountId?: string;
  channelExternalRef?: string | null;
}

export type OwnerLookup = (asset: Asset) => Owner[];

/** Finds the owners of all assets in the readings, with one statement for each platform among them. */
export async function findOwners(db: Queryable, readings: readonly Reading[]): Promise<OwnerLookup> {
  const idsOf = collectIds(readings);
  const lookups = new Map<Asset["kind"], OwnerLookup>();
  const [assets, wabas] = [idsOf("number"), idsOf("waba")];
  if (assets.length + wabas.length > 0) {
    const lookUp = lookUpChatOwners(await findChannelOwners(db, "chatapp", { assets, wabas }));
    lookups.set("number", lookUp).set("waba", lookUp);
  }
  for (const [kind, platform] of SINGLE_ASSETS) {
    const assets = idsOf(kind);
    if (assets.length === 0) continue;
    lookups.set(kind, lookUpByAsset(await findChannelOwners(db, platform, { assets, wabas: [] })));
  }
  const accounts = idsOf("ad_account");
  if (accounts.length > 0) lookups.set("ad_account", await lookUpAdAccountOwners(db, accounts));
  return (asset) => lookups.get(asset.kind)?.(asset) ?? [];
}

/** Returns the valid ids of a kind of assets, each once. */
function collectIds(readings: readonly Reading[]): (kind: Asset["kind"]) => string[] {
  const idsByKind = new Map<Asset["kind"], Set<string>>();
  for (const { asset } of readings)
    idsByKind.set(asset.kind, (idsByKind.get(asset.kind) ?? new Set()).add(asset.id));
  return (kind) => [...(idsByKind.get(kind) ?? [])].filter(isPlatformId);
}

/** Kinds of assets that have one channel each. */
const SINGLE_ASSETS = [
  ["page", "socialapp"],
  ["photo_account", "photoapp"],
] as const;

const toOwner = ({ client_id, id, external_ref }: ChannelOwnerRow): Owner => ({
  clientId: client_id,
  channelId: id,
  channelExternalRef: external_ref,
});

function lookUpByAsset(rows: readonly ChannelOwnerRow[]): OwnerLookup {
  const owners = new Map(rows.map((row) => [row.asset_id, [toOwner(row)]]));
  return ({ id }) => owners.get(id) ?? [];
}

function lookUpChatOwners(rows: readonly ChannelOwnerRow[]): OwnerLookup {
  const numberOwners = lookUpByAsset(rows);
  return (asset) => {
    if (asset.kind === "number") return numberOwners(asset);
    const channels = rows.filter(({ waba_id }) => waba_id === asset.id);
    const named = channels.find(({ display_phone_number }) => isSameNumber(display_phone_number, asset));
    if (named) return [toOwner(named)];
    const owners = firstPerClient(candidateChannels(channels, asset));
    return asset.requiresSingleOwner && owners.length > 1 ? [] : owners;
  };
}

/** A number without a match may belong to a channel whose number is not known. */
function candidateChannels(channels: readonly ChannelOwnerRow[], { displayNumber }: Asset) {
  const withoutNumber = channels.filter(({ display_phone_number }) => display_phone_number === null);
  return displayNumber === undefined || withoutNumber.length === 0 ? channels : withoutNumber;
}

/** Compares digits only: numbers are written in many ways. */
const isSameNumber = (written: string | null, { displayNumber }: Asset) =>
  digitsOf(displayNumber) !== "" && digitsOf(written) === digitsOf(displayNumber);

const digitsOf = (text: string | null | undefined) => (text ?? "").replaceAll(/\D/g, "");

/** An update of a whole business concerns each client once, by its first channel there. */
function firstPerClient(channels: readonly ChannelOwnerRow[]): Owner[] {
  const first = new Map<string, Owner>();
  for (const channel of channels)
    if (!first.has(channel.client_id)) first.set(channel.client_id, toOwner(channel));
  return [...first.values()];
}

async function lookUpAdAccountOwners(db: Queryable, ids: readonly string[]): Promise<OwnerLookup> {
  const holders = await findAdAccountOwners(
    db,
    ids.map((id) => `act_${id}`),
  );
  return ({ id }) =>
    holders
      .filter(({ ad_account_id }) => ad_account_id === `act_${id}`)
      .map(({ client_id, ad_account_id }) => ({ clientId: client_id, adAccountId: ad_account_id }));
}
