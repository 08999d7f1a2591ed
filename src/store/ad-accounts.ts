import { type Queryable, sql } from "./database.ts";

export interface AdAccountRow {
  id: string;
  client_id: string;
  ad_account_id: string;
  name: string;
  currency: string;
  timezone_name: string;
  account_status: number;
  business_id: string | null;
  business_name: string | null;
  status: string;
  last_synced_at: Date;
  created_at: Date;
}

const COLUMNS = `a.id, a.client_id, a.ad_account_id, a.name, a.currency, a.timezone_name, a.account_status,
    a.business_id, a.business_name, a.status, a.last_synced_at, a.created_at`;

const HOLDERS = sql(`
  select ad_account_id, client_id
  from ad_accounts
  where ad_account_id = any($1)
  and status in ('active', 'disabled')`);

export interface AdAccountHolder {
  ad_account_id: string;
  client_id: string;
}

/** Over all clients: who operates with these accounts, or has paused them. One that was only offered is told nothing. */
export const findHolders = (db: Queryable, adAccountIds: readonly string[]): Promise<AdAccountHolder[]> =>
  db.query<AdAccountHolder>(HOLDERS, [adAccountIds]);

const REVOKE_OF_USER = sql(`
  with former as (
    select a.id, a.status
    from ad_accounts a
    join ad_connections c on c.id = a.connection_id
    where c.platform_user_id = $1
    and c.created_at <= $2
    and a.status <> 'revoked'
    order by a.id
    for update of a
  )
  update ad_accounts a
  set status = 'revoked'
  from former
  where a.id = former.id
  returning ${COLUMNS}, former.status as previous_status`);

/** Over all clients: what this person had connected by then is revoked; answers what was not before. */
export const revokeOfUser = (
  tx: Queryable,
  platformUserId: string,
  until: Date,
): Promise<(AdAccountRow & { previous_status: string })[]> =>
  tx.query(REVOKE_OF_USER, [platformUserId, until]);

const ERASE_CONNECTIONS = sql(`
  delete from ad_connections
  where platform_user_id = $1
  and created_at <= $2
  returning id`);

/** Over all clients: the tokens that this person had granted by then; their accounts stay, without one. */
export async function eraseConnections(tx: Queryable, platformUserId: string, until: Date): Promise<number> {
  const rows = await tx.query(ERASE_CONNECTIONS, [platformUserId, until]);
  return rows.length;
}
