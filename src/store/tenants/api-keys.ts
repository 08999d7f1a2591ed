import { type Queryable, sql } from "../database/database.ts";
import { byNewest, type PageRequest, readPage } from "../database/paging.ts";

export interface ApiKeyRow {
  id: string;
  client_id: string;
  name: string;
  prefix: string;
  last4: string;
  scopes: string[];
  created_at: Date;
  created_by: KeyCreator | null;
  expires_at: Date | null;
  last_used_at: Date | null;
  revoked_at: Date | null;
  replaced_by: string | null;
}

/** The user who created a key; `enabled` is null when the user has no row, because an identity provider issued the token. */
export interface KeyCreator {
  user_id: string;
  name: string;
  enabled: boolean | null;
}

/** An API key with the columns that a presented key is verified against. */
export interface ApiKeyCredentialRow extends ApiKeyRow {
  secret_hash: Buffer;
  client_name: string;
}

export interface NewApiKey {
  id: string;
  name: string;
  prefix: string;
  last4: string;
  secretHash: Buffer;
  scopes: readonly string[];
  expiresAt: Date | null;
  createdBy: { id: string; name: string } | null;
}

/** The columns of `ApiKeyRow` from api_keys as k. The creator's name is the present one. */
const COLUMNS = `k.id, k.client_id, k.name, k.prefix, k.last4, k.scopes, k.created_at, k.expires_at, k.last_used_at,
    k.revoked_at, k.replaced_by, (
      select jsonb_build_object('user_id', k.created_by, 'name', coalesce(u.name, k.created_by_name), 'enabled', u.enabled)
      from (select) one
      left join users u on u.client_id = k.client_id and u.id = k.created_by
      where k.created_by is not null
    ) as created_by`;

const INSERT = sql(`
  insert into api_keys as k
    (id, client_id, name, prefix, last4, secret_hash, scopes, expires_at, created_by, created_by_name)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  returning ${COLUMNS}`);

const LIST = byNewest(`
  select ${COLUMNS}
  from api_keys k
  where client_id = $1`);

const LOCK = sql(`
  select ${COLUMNS}
  from api_keys k
  where client_id = $1
  and id = $2
  for update`);

const REVOKE = sql(`
  update api_keys
  set revoked_at = now()
  where client_id = $1
  and id = $2
  and revoked_at is null
  returning id`);

const REPLACE = sql(`
  update api_keys
  set replaced_by = $3, expires_at = least(expires_at, now() + $4 * interval '1 millisecond')
  where client_id = $1
  and id = $2`);

const FIND_CREDENTIAL = sql(`
  select ${COLUMNS}, k.secret_hash, c.name as client_name
  from api_keys k
  join clients c on c.id = k.client_id and c.deleted_at is null
  where k.id = $1`);

const FIND_OWNER = sql(`
  select client_id
  from api_keys
  where id = $1`);

const LIST_OF_DISABLED_USERS = sql(`
  select k.id, u.email as creator
  from api_keys k
  join users u on u.client_id = k.client_id and u.id = k.created_by
  where not u.enabled
  and k.revoked_at is null
  and (k.expires_at is null or k.expires_at > now())
  order by k.id`);

const TOUCH = sql(`
  update api_keys
  set last_used_at = now()
  where id = $1
  and (last_used_at is null or last_used_at < now() - interval '1 minute')`);

export async function insertApiKey(db: Queryable, clientId: string, key: NewApiKey): Promise<ApiKeyRow> {
  const { id, name, prefix, last4, secretHash, scopes, expiresAt, createdBy } = key;
  const creator = [createdBy?.id ?? null, createdBy?.name ?? null];
  const values = [id, clientId, name, prefix, last4, secretHash, scopes, expiresAt, ...creator];
  const [row] = await db.query<ApiKeyRow>(INSERT, values);
  return row as ApiKeyRow;
}

export const listApiKeys = (db: Queryable, clientId: string, page: PageRequest): Promise<ApiKeyRow[]> =>
  readPage(db, clientId, { page, statements: LIST });

/** Locks the key until the transaction ends. */
export async function lockApiKey(
  tx: Queryable,
  clientId: string,
  id: string,
): Promise<ApiKeyRow | undefined> {
  const [row] = await tx.query<ApiKeyRow>(LOCK, [clientId, id]);
  return row;
}

/** False when the key was already revoked. */
export async function revokeApiKey(db: Queryable, clientId: string, id: string): Promise<boolean> {
  const rows = await db.query(REVOKE, [clientId, id]);
  return rows.length > 0;
}

interface Replacement {
  id: string;
  replacedBy: string;
  /** Milliseconds for which the old key still works, unless it expires earlier. */
  graceMs: number;
}

export async function replaceApiKey(
  db: Queryable,
  clientId: string,
  { id, replacedBy, graceMs }: Replacement,
): Promise<void> {
  await db.query(REPLACE, [clientId, id, replacedBy, graceMs]);
}

/** True when the key is neither revoked nor expired. */
export const isActiveApiKey = ({ revoked_at, expires_at }: ApiKeyRow): boolean =>
  revoked_at === null && (expires_at === null || expires_at.getTime() > Date.now());

/** Spans all clients: the caller needs to find out the key's client. */
export async function findApiKeyCredential(
  db: Queryable,
  id: string,
): Promise<ApiKeyCredentialRow | undefined> {
  const [row] = await db.query<ApiKeyCredentialRow>(FIND_CREDENTIAL, [id]);
  return row;
}

/** Spans all clients, for the operator's command line. */
export async function findApiKeyOwner(db: Queryable, id: string): Promise<string | undefined> {
  const [row] = await db.query<{ client_id: string }>(FIND_OWNER, [id]);
  return row?.client_id;
}

/** Spans all clients, for the operator: active keys whose creator is disabled now. */
export const listKeysOfDisabledUsers = (db: Queryable): Promise<{ id: string; creator: string }[]> =>
  db.query<{ id: string; creator: string }>(LIST_OF_DISABLED_USERS);

/** Spans all clients: records that the key was used, at most once a minute. */
export async function touchApiKey(db: Queryable, id: string): Promise<void> {
  await db.query(TOUCH, [id]);
}
