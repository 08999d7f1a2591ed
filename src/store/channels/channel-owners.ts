import { type Queryable, sql } from "../database/database.ts";

/** Channels over all clients, as the platforms ask for them. */

export interface ChannelOwnerRow {
  id: string;
  client_id: string;
  platform: string;
  asset_id: string;
  waba_id: string | null;
  display_phone_number: string | null;
  external_ref: string | null;
}

const COLUMNS = "id, client_id, platform, asset_id, waba_id, display_phone_number, external_ref";

const FIND = sql(`
  select ${COLUMNS}
  from channels
  where status <> 'disconnected'
  and platform = $1
  and (asset_id = any($2) or waba_id = any($3))
  order by status, connected_at, id`);

interface PlatformAssets {
  /** Numbers, pages or photo accounts. */
  assets: readonly string[];
  wabas: readonly string[];
}

/** Whose these are; the connected ones first, of them the oldest. */
export const findChannelOwners = (
  db: Queryable,
  platform: string,
  { assets, wabas }: PlatformAssets,
): Promise<ChannelOwnerRow[]> => db.query<ChannelOwnerRow>(FIND, [platform, assets, wabas]);

const DISCONNECT_WABA = sql(`
  update channels
  set status = 'disconnected', token_sealed = null
  where client_id = $1
  and waba_id = $2
  and status <> 'disconnected'
  and granted_at <= $3
  returning ${COLUMNS}`);

/** The platform has cut the connection at that time; one made since is another. Answers what has ended. */
export const disconnectChannelsOfWaba = (
  tx: Queryable,
  clientId: string,
  { wabaId, at }: { wabaId: string; at: Date },
): Promise<ChannelOwnerRow[]> => tx.query<ChannelOwnerRow>(DISCONNECT_WABA, [clientId, wabaId, at]);

const MARK_USER_TOKENS_DEAD = sql(`
  update channels
  set status = 'needs_reauth', token_sealed = null
  where platform_user_id = $1
  and granted_at <= $2
  and status = 'connected'
  returning ${COLUMNS}`);

/** The tokens that this person had granted by then are dead; answers what was connected. */
export const markUserTokensDead = (
  tx: Queryable,
  platformUserId: string,
  until: Date,
): Promise<ChannelOwnerRow[]> => tx.query<ChannelOwnerRow>(MARK_USER_TOKENS_DEAD, [platformUserId, until]);

const REMOVE_USER = sql(`
  update channels
  set platform_user_id = null, token_sealed = null
  where platform_user_id = $1
  and granted_at <= $2
  returning id`);

/** Nothing of this person is left in what they had connected by then; answers in how many channels there was. */
export async function removeUserFromChannels(
  tx: Queryable,
  platformUserId: string,
  until: Date,
): Promise<number> {
  const rows = await tx.query(REMOVE_USER, [platformUserId, until]);
  return rows.length;
}
