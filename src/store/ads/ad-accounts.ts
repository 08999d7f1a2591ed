import { type Queryable, type Statement, sql } from "../database/database.ts";
import { byNewest, MAX_UUID, type PageRequest, readPage } from "../database/paging.ts";

/** Fields of an ad account that the platform reports. */
export interface AdAccountFacts {
  name: string;
  currency: string;
  timezone_name: string;
  account_status: number;
  business_id: string | null;
  business_name: string | null;
}

export const AD_ACCOUNT_FACTS = [
  "name",
  "currency",
  "timezone_name",
  "account_status",
  "business_id",
  "business_name",
] as const satisfies readonly (keyof AdAccountFacts)[];

export interface AdAccountRow extends AdAccountFacts {
  id: string;
  client_id: string;
  /** The connection whose token reaches the account; null once it is revoked. */
  connection_id: string | null;
  ad_account_id: string;
  status: string;
  subscribed_at: Date | null;
  /** Since when the token, although live, no longer reaches the account. */
  unreached_since: Date | null;
  last_synced_at: Date;
  created_at: Date;
  /** When the token of its connection expires; null when it does not, or when there is none. */
  token_expires_at: Date | null;
}

export interface AdAccountFilters {
  status?: string;
  /** Part of a name or an id, case-insensitive. */
  q?: string;
}

const columnsOf = (table: string): string => {
  const names = `id, client_id, connection_id, ad_account_id, name, currency, timezone_name, account_status, business_id,
    business_name, status, subscribed_at, unreached_since, last_synced_at, created_at`;
  return `${names.replaceAll(/\w+/g, `${table}.$&`)},
    (select expires_at from ad_connections where id = ${table}.connection_id) as token_expires_at`;
};

/** Columns of an account `a`. */
export const AD_ACCOUNT_COLUMNS = columnsOf("a");

const LIST = byNewest(
  `
  select ${columnsOf("ad_accounts")}
  from ad_accounts
  where client_id = $1
  and ($4::text is null or status = $4)
  and (
    $5::text is null
    or position(lower($5) in lower(name)) > 0
    or position(lower($5) in ad_account_id) > 0
  )`,
  MAX_UUID,
);

export const listAdAccounts = (
  db: Queryable,
  clientId: string,
  { page, status, q }: AdAccountFilters & { page: PageRequest },
): Promise<AdAccountRow[]> =>
  readPage(db, clientId, { page, statements: LIST, filters: [status ?? null, q ?? null] });

const LIST_ALL = sql(`
  select ${columnsOf("ad_accounts")}
  from ad_accounts
  where id < $1
  and ($3::text is null or status = $3)
  order by id desc
  limit $2`);

/** Spans all clients, newest first, with one row more than the limit if there is one. */
export const listAdAccountsOfAllClients = (
  db: Queryable,
  { page, status }: Pick<AdAccountFilters, "status"> & { page: PageRequest },
): Promise<AdAccountRow[]> =>
  db.query<AdAccountRow>(LIST_ALL, [page.after ?? MAX_UUID, page.limit + 1, status ?? null]);

/** Chooses the statement for an account's id: Herald's, or the platform's, which includes the `act_` prefix. */
export function byEitherId(toText: (column: string) => string): (id: string) => Statement {
  const [byId, byPlatformId] = [sql(toText("id")), sql(toText("ad_account_id"))];
  return (id) => (id.startsWith("act_") ? byPlatformId : byId);
}

const findStatement = byEitherId(
  (column) => `
  select ${AD_ACCOUNT_COLUMNS}, c.token_sealed
  from ad_accounts a
  left join ad_connections c on c.id = a.connection_id
  where a.client_id = $1
  and a.${column} = $2`,
);

/** An ad account with its sealed token; null when it no longer has one. */
export type AdAccountTokenRow = AdAccountRow & { token_sealed: string | null };

/** Finds an account by Herald's id or the platform's. */
export async function findAdAccount(
  db: Queryable,
  clientId: string,
  id: string,
): Promise<AdAccountTokenRow | undefined> {
  const [row] = await db.query<AdAccountTokenRow>(findStatement(id), [clientId, id]);
  return row;
}

const LIST_OF_CONNECTION = sql(`
  select ${AD_ACCOUNT_COLUMNS}
  from ad_accounts a
  where a.connection_id = $1
  order by a.id`);

/** Spans all clients; a connection belongs to one. */
export const listAccountsOfConnection = (db: Queryable, connectionId: string): Promise<AdAccountRow[]> =>
  db.query<AdAccountRow>(LIST_OF_CONNECTION, [connectionId]);

const FIND_OWNERS = sql(`
  select ad_account_id, client_id
  from ad_accounts
  where ad_account_id = any($1)
  and status in ('active', 'disabled')
  and unreached_since is null`);

export interface AdAccountOwnerRow {
  ad_account_id: string;
  client_id: string;
}

/**
 * Spans all clients: clients for which these accounts are active or disabled. Skips accounts that were only
 * offered and those that the token no longer reaches.
 */
export const findAdAccountOwners = (
  db: Queryable,
  adAccountIds: readonly string[],
): Promise<AdAccountOwnerRow[]> => db.query<AdAccountOwnerRow>(FIND_OWNERS, [adAccountIds]);
