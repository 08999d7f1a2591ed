import { type Queryable, sql } from "../database/database.ts";
import {
  AD_ACCOUNT_COLUMNS,
  AD_ACCOUNT_FACTS,
  type AdAccountFacts,
  type AdAccountRow,
  byEitherId,
} from "./ad-accounts.ts";

/** An ad account in a grant. */
export interface GrantedAccount extends AdAccountFacts {
  /** Row id for a new account. */
  id: string;
  ad_account_id: string;
}

const RESERVE = sql(`
  select pg_advisory_xact_lock(hashtextextended('ad accounts of ' || $1::text, 0))`);

/** Blocks other grants of this client until the transaction ends. */
export async function reserveGrants(tx: Queryable, clientId: string): Promise<void> {
  await tx.query(RESERVE, [clientId]);
}

const LOCK_BY_AD_ACCOUNT_ID = sql(`
  select ${AD_ACCOUNT_COLUMNS}
  from ad_accounts a
  where a.client_id = $1
  and a.ad_account_id = any($2)
  order by a.id
  for update`);

/** Locks those of these accounts that the client has until the transaction ends. */
export const lockAdAccounts = (
  tx: Queryable,
  clientId: string,
  adAccountIds: readonly string[],
): Promise<AdAccountRow[]> => tx.query<AdAccountRow>(LOCK_BY_AD_ACCOUNT_ID, [clientId, adAccountIds]);

const FACT_COLUMNS = AD_ACCOUNT_FACTS.join(", ");
const factArrays = (first: number): string =>
  AD_ACCOUNT_FACTS.map(
    (fact, index) => `$${first + index}::${fact === "account_status" ? "integer" : "text"}[]`,
  ).join(", ");

/** SQL: assigns all facts from another row. */
const factsFrom = (source: string): string =>
  AD_ACCOUNT_FACTS.map((fact) => `${fact} = ${source}.${fact}`).join(",\n    ");

const factsOf = (accounts: readonly AdAccountFacts[]): unknown[] =>
  AD_ACCOUNT_FACTS.map((fact) => accounts.map((account) => account[fact]));

/** A revoked account becomes available; any other keeps its status. All use the new connection. */
const SAVE_GRANTED = sql(`
  insert into ad_accounts as a (client_id, connection_id, id, ad_account_id, ${FACT_COLUMNS})
  select $1, $2, g.*
  from unnest($3::uuid[], $4::text[], ${factArrays(5)}) as g
  on conflict (client_id, ad_account_id) do update
  set
    connection_id = excluded.connection_id,
    ${factsFrom("excluded")},
    status = case a.status when 'revoked' then 'available' else a.status end,
    unreached_since = null,
    last_synced_at = now()
  returning ${AD_ACCOUNT_COLUMNS}`);

export const saveGrantedAccounts = (
  tx: Queryable,
  clientId: string,
  { connectionId, accounts }: { connectionId: string; accounts: readonly GrantedAccount[] },
): Promise<AdAccountRow[]> =>
  tx.query<AdAccountRow>(SAVE_GRANTED, [
    clientId,
    connectionId,
    accounts.map(({ id }) => id),
    accounts.map(({ ad_account_id }) => ad_account_id),
    ...factsOf(accounts),
  ]);

const SYNC = sql(`
  with given as (
    select *
    from unnest($2::uuid[], ${factArrays(3)}) as g (id, ${FACT_COLUMNS})
  ),
  former as (
    select a.client_id, a.id, ${AD_ACCOUNT_FACTS.map((fact) => `a.${fact}`).join(", ")}
    from ad_accounts a
    join given g on g.id = a.id
    where a.connection_id = $1
    order by a.id
    for update of a
  )
  update ad_accounts a
  set
    ${factsFrom("g")},
    unreached_since = null,
    last_synced_at = now()
  from given g
  join former f on f.id = g.id
  where a.client_id = f.client_id
  and a.id = f.id
  returning ${AD_ACCOUNT_COLUMNS}, to_jsonb(f) as former`);

/** An account after a sync, with the facts stored before it. */
export type SyncedRow = AdAccountRow & { former: AdAccountFacts };

/**
 * Spans all clients (a connection belongs to one): stores facts read with the connection's token. Skips
 * accounts that use another connection by now.
 */
export const syncAccounts = (
  tx: Queryable,
  connectionId: string,
  accounts: readonly (AdAccountFacts & { id: string })[],
): Promise<SyncedRow[]> =>
  tx.query<SyncedRow>(SYNC, [connectionId, accounts.map(({ id }) => id), ...factsOf(accounts)]);

const MARK_UNREACHABLE = sql(`
  update ad_accounts
  set unreached_since = now()
  where connection_id = $1
  and id = any($2)
  and unreached_since is null
  returning ad_account_id`);

/**
 * Spans all clients (a connection belongs to one): marks accounts that its live token does not reach any
 * more. Returns those that were reachable before.
 */
export async function markUnreachable(
  tx: Queryable,
  connectionId: string,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await tx.query<{ ad_account_id: string }>(MARK_UNREACHABLE, [connectionId, ids]);
  return rows.map(({ ad_account_id }) => ad_account_id);
}

const lockStatement = byEitherId(
  (column) => `
  select ${AD_ACCOUNT_COLUMNS}
  from ad_accounts a
  where a.client_id = $1
  and a.${column} = $2
  for update`,
);

/** Locks the account with this id, Herald's or the platform's, until the transaction ends. */
export async function lockAdAccount(
  tx: Queryable,
  clientId: string,
  id: string,
): Promise<AdAccountRow | undefined> {
  const [row] = await tx.query<AdAccountRow>(lockStatement(id), [clientId, id]);
  return row;
}

const SET_STATUS = sql(`
  update ad_accounts a
  set status = $3
  where a.client_id = $1
  and a.id = $2
  returning ${AD_ACCOUNT_COLUMNS}`);

export async function setAdAccountStatus(
  tx: Queryable,
  clientId: string,
  { id, status }: { id: string; status: string },
): Promise<AdAccountRow> {
  const [row] = await tx.query<AdAccountRow>(SET_STATUS, [clientId, id, status]);
  return row as AdAccountRow;
}

const MARK_SUBSCRIBED = sql(`
  update ad_accounts
  set subscribed_at = now()
  where client_id = $1
  and id = $2
  and status <> 'revoked'`);

export async function markSubscribed(db: Queryable, clientId: string, id: string): Promise<void> {
  await db.query(MARK_SUBSCRIBED, [clientId, id]);
}

/** Removing the app also ends its subscriptions. */
const REVOKE = sql(`
  with former as (
    select client_id, id, status
    from ad_accounts
    where connection_id = any($1)
    order by id
    limit $2
    for update
  )
  update ad_accounts a
  set
    status = 'revoked',
    connection_id = null,
    subscribed_at = null,
    unreached_since = null
  from former
  where a.client_id = former.client_id
  and a.id = former.id
  returning ${AD_ACCOUNT_COLUMNS}, former.status as previous_status`);

export type RevokedRow = AdAccountRow & { previous_status: string };

/** Spans all clients: revokes up to `limit` accounts of connections whose tokens are dead, and returns them. */
export const revokeAccounts = (
  tx: Queryable,
  connectionIds: readonly string[],
  limit: number,
): Promise<RevokedRow[]> => tx.query<RevokedRow>(REVOKE, [connectionIds, limit]);
