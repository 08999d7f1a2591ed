import type { Asset, Reading } from "../../platforms/webhooks/reading.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import { findHolders } from "../../store/ads/ad-accounts.ts";
import { type ChannelOwnerRow, findChannelOwners } from "../../store/channels/channel-owners.ts";
import type { Queryable } from "../../store/database/database.ts";

/** Whom an update concerns. */
export interface Owner {
  clientId: string;
  channelId?: string;
  adAccountId?: string;
  externalRef?: string | null;
}

export type Ownership = (asset: Asset) => Owner[];

/** Finds the owners of everything that the readings are about, in one statement: a webhook is about one kind of object. */
export async function findOwners(db: Queryable, readings: readonly Reading[]): Promise<Ownership> {
  const idsOf = (kind: Asset["kind"]) => [
    ...new Set(
      readings.flatMap(({ asset: { kind: own, id } }) => (own === kind && isPlatformId(id) ? [id] : [])),
    ),
  ];
  const chat = { assets: idsOf("number"), wabas: idsOf("waba") };
  if (chat.assets.length + chat.wabas.length > 0)
    return chatOwnership(await findChannelOwners(db, "chatapp", chat));
  for (const [kind, platform] of SINGLE_ASSETS) {
    const assets = idsOf(kind);
    if (assets.length > 0) return byAsset(await findChannelOwners(db, platform, { assets, wabas: [] }));
  }
  const accounts = idsOf("ad account");
  return accounts.length > 0 ? adAccountOwnership(db, accounts) : () => [];
}

/** Whose channels stand for themselves alone. */
const SINGLE_ASSETS = [
  ["page", "socialapp"],
  ["photo account", "photoapp"],
] as const;

const toOwner = ({ client_id, id, external_ref }: ChannelOwnerRow): Owner => ({
  clientId: client_id,
  channelId: id,
  externalRef: external_ref,
});

function byAsset(rows: readonly ChannelOwnerRow[]): Ownership {
  const owners = new Map(rows.map((row) => [row.asset_id, [toOwner(row)]]));
  return ({ id }) => owners.get(id) ?? [];
}

function chatOwnership(rows: readonly ChannelOwnerRow[]): Ownership {
  const ofNumber = byAsset(rows);
  return (asset) => {
    if (asset.kind === "number") return ofNumber(asset);
    const channels = rows.filter(({ waba_id }) => waba_id === asset.id);
    const named = channels.find(({ display_phone_number }) => isSameNumber(display_phone_number, asset));
    if (named) return [toOwner(named)];
    const owners = oncePerClient(candidates(channels, asset));
    return asset.inConfidence && owners.length > 1 ? [] : owners;
  };
}

/** A number that is nobody's as far as we know may be that of a channel whose number we do not know. */
function candidates(channels: readonly ChannelOwnerRow[], { displayNumber }: Asset) {
  const unknown = channels.filter(({ display_phone_number }) => display_phone_number === null);
  return displayNumber === undefined || unknown.length === 0 ? channels : unknown;
}

const digitsOf = (text: string | null | undefined) => (text ?? "").replaceAll(/\D/g, "");

/** People write numbers in many ways. */
const isSameNumber = (written: string | null, { displayNumber }: Asset) =>
  digitsOf(displayNumber) !== "" && digitsOf(written) === digitsOf(displayNumber);

/** An update of a whole business concerns each client once, by the first of its channels there. */
function oncePerClient(channels: readonly ChannelOwnerRow[]): Owner[] {
  const first = new Map<string, Owner>();
  for (const channel of channels)
    if (!first.has(channel.client_id)) first.set(channel.client_id, toOwner(channel));
  return [...first.values()];
}

async function adAccountOwnership(db: Queryable, ids: readonly string[]): Promise<Ownership> {
  const holders = await findHolders(
    db,
    ids.map((id) => `act_${id}`),
  );
  return ({ id }) =>
    holders
      .filter(({ ad_account_id }) => ad_account_id === `act_${id}`)
      .map(({ client_id, ad_account_id }) => ({ clientId: client_id, adAccountId: ad_account_id }));
}
