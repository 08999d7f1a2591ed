import { type Queryable, sql } from "../database/database.ts";
import { MAX_ID, type PageRequest } from "../database/paging.ts";
import { CHANNEL_COLUMNS, type ChannelFilters, type ChannelRow } from "./channels.ts";

/** Everything here spans all clients: platforms identify assets, not clients. */

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
  /** Ids of numbers, pages or photo accounts. */
  assets: readonly string[];
  wabas: readonly string[];
}

/** Returns the channels of these assets that are not disconnected: connected ones first, then by age. */
export const findChannelOwners = (
  db: Queryable,
  platform: string,
  { assets, wabas }: PlatformAssets,
): Promise<ChannelOwnerRow[]> => db.query<ChannelOwnerRow>(FIND, [platform, assets, wabas]);

const LIST = sql(`
  select ${CHANNEL_COLUMNS}
  from channels
  where id < $1
  and ($3::text is null or platform = $3)
  and ($4::text is null or status = $4)
  order by id desc
  limit $2`);

/** The channels of all clients, newest first, with one row more than the limit if there is one. */
export const listChannelsOfAllClients = (
  db: Queryable,
  { page, platform, status }: ChannelFilters & { page: PageRequest },
): Promise<ChannelRow[]> =>
  db.query<ChannelRow>(LIST, [page.after ?? MAX_ID, page.limit + 1, platform ?? null, status ?? null]);

const COUNT = sql(`
  select platform, status, count(*)::integer as count
  from channels
  group by platform, status`);

export interface ChannelCount {
  platform: string;
  status: string;
  count: number;
}

/** Counts the channels of all clients; a combination without channels is left out. */
export const countChannels = (db: Queryable): Promise<ChannelCount[]> => db.query<ChannelCount>(COUNT);

const DISCONNECT_WABA = sql(`
  update channels
  set status = 'disconnected', token_sealed = null
  where client_id = $1
  and waba_id = $2
  and status <> 'disconnected'
  and granted_at <= $3
  returning ${COLUMNS}`);

/**
 * Disconnects channels granted up to `at`, when the platform ended the connection; newer grants stay. Returns
 * them.
 */
export const disconnectChannelsOfWaba = (
  tx: Queryable,
  clientId: string,
  { wabaId, at }: { wabaId: string; at: Date },
): Promise<ChannelOwnerRow[]> => tx.query<ChannelOwnerRow>(DISCONNECT_WABA, [clientId, wabaId, at]);

const selectGrantedBy = (condition: string) => `
    select id
    from channels
    where platform_user_id = $1
    and granted_at <= $2
    and ${condition}
    order by id
    limit $3
    for update`;

const MARK_USER_TOKENS_DEAD = sql(`
  update channels
  set status = 'needs_reauth', token_sealed = null
  where id = any(array(${selectGrantedBy("status = 'connected'")}))
  returning ${COLUMNS}`);

/** Grants that a person at the platform gave up to `until`, at most `limit` rows at a time. */
export interface GrantBatch {
  platformUserId: string;
  until: Date;
  limit: number;
}

/** Marks tokens that this person granted as dead; returns the channels that were connected. */
export const markUserTokensDead = (
  tx: Queryable,
  { platformUserId, until, limit }: GrantBatch,
): Promise<ChannelOwnerRow[]> =>
  tx.query<ChannelOwnerRow>(MARK_USER_TOKENS_DEAD, [platformUserId, until, limit]);

const REMOVE_USER = sql(`
  update channels
  set platform_user_id = null, token_sealed = null
  where id = any(array(${selectGrantedBy("true")}))
  returning id`);

/** Removes the person's id and tokens from channels; returns how many channels. */
export async function removeUserFromChannels(
  db: Queryable,
  { platformUserId, until, limit }: GrantBatch,
): Promise<number> {
  const rows = await db.query(REMOVE_USER, [platformUserId, until, limit]);
  return rows.length;
}
