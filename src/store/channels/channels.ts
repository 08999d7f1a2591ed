import { type Queryable, sql } from "../database/database.ts";
import { byNewest, type PageRequest, readPage } from "../database/paging.ts";

export interface ChannelRow {
  id: string;
  client_id: string;
  platform: string;
  status: string;
  display_name: string | null;
  waba_id: string | null;
  phone_number_id: string | null;
  display_phone_number: string | null;
  page_id: string | null;
  photoapp_user_id: string | null;
  template_namespace: string | null;
  external_ref: string | null;
  connected_at: Date;
  asset_id: string;
}

/** Columns that connecting a channel sets. */
export interface ChannelDetails {
  id: string;
  tokenSealed: string;
  platformUserId: string | null;
  wabaId: string | null;
  pageId: string | null;
  displayName: string | null;
  displayPhoneNumber: string | null;
  templateNamespace: string | null;
  externalRef: string | null;
}

export interface NewChannel extends ChannelDetails {
  platform: string;
  phoneNumberId: string | null;
  photoappUserId: string | null;
}

/** Identifies a number, page or photo account. */
export interface Asset {
  platform: string;
  assetId: string;
}

export interface ChannelFilters {
  platform?: string | undefined;
  status?: string | undefined;
}

export const CHANNEL_COLUMNS = `id, client_id, platform, status, display_name, waba_id, phone_number_id, display_phone_number, page_id,
    photoapp_user_id, template_namespace, external_ref, connected_at, asset_id`;

const LIST = byNewest(`
  select ${CHANNEL_COLUMNS}
  from channels
  where client_id = $1
  and ($4::text is null or platform = $4)
  and ($5::text is null or status = $5)`);

const FIND = sql(`
  select ${CHANNEL_COLUMNS}
  from channels
  where client_id = $1
  and id = $2`);

const RESERVE = sql(`
  select pg_advisory_xact_lock(hashtextextended('channels ' || $1::text || ' ' || $2::text, 0))`);

const LOCK_BY_ASSET = sql(`
  select ${CHANNEL_COLUMNS}
  from channels
  where platform = $2
  and asset_id = $3
  and (client_id = $1 or status <> 'disconnected')
  order by status = 'disconnected', id desc
  for update`);

const INSERT = sql(`
  insert into channels (
    client_id, id, token_sealed, platform_user_id, waba_id, page_id, display_name, display_phone_number,
    template_namespace, external_ref, platform, phone_number_id, photoapp_user_id
  )
  values (
    $1, $2, $3, $4, $5, $6, $7, $8,
    $9, $10, $11, $12, $13
  )
  on conflict (platform, asset_id) where status <> 'disconnected' do nothing
  returning ${CHANNEL_COLUMNS}`);

/**
 * The platform user belongs to the token and the namespace to the business account: they change with these.
 */
const RECONNECT = sql(`
  update channels
  set
    status = 'connected',
    connected_at = case status when 'connected' then connected_at else now() end,
    token_sealed = $3,
    granted_at = now(),
    platform_user_id = $4,
    waba_id = $5,
    page_id = $6,
    display_name = coalesce($7, display_name),
    display_phone_number = coalesce($8, display_phone_number),
    template_namespace = coalesce($9, case when waba_id = $5 then template_namespace end),
    external_ref = coalesce($10, external_ref)
  where client_id = $1
  and id = $2
  returning ${CHANNEL_COLUMNS}`);

const DISCONNECT = sql(`
  update channels
  set status = 'disconnected', token_sealed = null
  where client_id = $1
  and id = $2
  and status <> 'disconnected'
  returning ${CHANNEL_COLUMNS}`);

const FIND_TOKEN = sql(`
  select ${CHANNEL_COLUMNS}, token_sealed
  from channels
  where client_id = $1
  and id = $2`);

/** A channel with its sealed token; null when it no longer has one. */
export type ChannelTokenRow = ChannelRow & { token_sealed: string | null };

export async function findChannelToken(
  db: Queryable,
  clientId: string,
  id: string,
): Promise<ChannelTokenRow | undefined> {
  const [row] = await db.query<ChannelTokenRow>(FIND_TOKEN, [clientId, id]);
  return row;
}

/** Compares the sealed token: one that was replaced meanwhile must not be marked. */
const MARK_TOKEN_DEAD = sql(`
  update channels
  set status = 'needs_reauth', token_sealed = null
  where client_id = $1
  and id = $2
  and status = 'connected'
  and token_sealed = $3
  returning ${CHANNEL_COLUMNS}`);

/** Marks the channel as needs_reauth. Undefined when it is not connected or has another token by now. */
export async function markTokenDead(
  tx: Queryable,
  clientId: string,
  { id, token_sealed }: { id: string; token_sealed: string },
): Promise<ChannelRow | undefined> {
  const [row] = await tx.query<ChannelRow>(MARK_TOKEN_DEAD, [clientId, id, token_sealed]);
  return row;
}

export const listChannels = (
  db: Queryable,
  clientId: string,
  { page, platform, status }: ChannelFilters & { page: PageRequest },
): Promise<ChannelRow[]> =>
  readPage(db, clientId, { page, statements: LIST, filters: [platform ?? null, status ?? null] });

export async function findChannel(
  db: Queryable,
  clientId: string,
  id: string,
): Promise<ChannelRow | undefined> {
  const [row] = await db.query<ChannelRow>(FIND, [clientId, id]);
  return row;
}

/** Spans all clients: blocks other connects of this asset until the transaction ends. */
export async function reserveAsset(tx: Queryable, { platform, assetId }: Asset): Promise<void> {
  await tx.query(RESERVE, [platform, assetId]);
}

/**
 * Spans all clients: locks the channel that holds the asset, then the client's own former ones, until the
 * transaction ends.
 */
export const lockChannelsOfAsset = (tx: Queryable, clientId: string, asset: Asset): Promise<ChannelRow[]> =>
  tx.query<ChannelRow>(LOCK_BY_ASSET, [clientId, asset.platform, asset.assetId]);

const valuesOf = (details: ChannelDetails) => [
  details.id,
  details.tokenSealed,
  details.platformUserId,
  details.wabaId,
  details.pageId,
  details.displayName,
  details.displayPhoneNumber,
  details.templateNamespace,
  details.externalRef,
];

/** Undefined when another channel holds the asset. */
export async function insertChannel(
  tx: Queryable,
  clientId: string,
  channel: NewChannel,
): Promise<ChannelRow | undefined> {
  const { platform, phoneNumberId, photoappUserId } = channel;
  const values = [clientId, ...valuesOf(channel), platform, phoneNumberId, photoappUserId];
  const [row] = await tx.query<ChannelRow>(INSERT, values);
  return row;
}

/**
 * Reconnects a channel that the transaction has locked. Names, number and external_ref stay when not given.
 */
export async function reconnectChannel(
  tx: Queryable,
  clientId: string,
  channel: ChannelDetails,
): Promise<ChannelRow> {
  const [row] = await tx.query<ChannelRow>(RECONNECT, [clientId, ...valuesOf(channel)]);
  return row as ChannelRow;
}

/** Erases the token and returns the channel; undefined when there was nothing to disconnect. */
export async function markDisconnected(
  tx: Queryable,
  clientId: string,
  id: string,
): Promise<ChannelRow | undefined> {
  const [row] = await tx.query<ChannelRow>(DISCONNECT, [clientId, id]);
  return row;
}
