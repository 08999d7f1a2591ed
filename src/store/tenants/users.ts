import { type Queryable, sql } from "../database/database.ts";
import { byNewest, type PageRequest, readPage } from "../database/paging.ts";

export interface UserRow {
  id: string;
  client_id: string;
  email: string;
  name: string;
  role: string;
  enabled: boolean;
  last_login_at: Date | null;
  created_at: Date;
}

/** A user with the columns that a token or password is verified against. */
export interface UserCredentialRow extends UserRow {
  password_hash: string;
  tokens_valid_from: Date | null;
  client_name: string;
}

export interface NewUser {
  id: string;
  email: string;
  name: string;
  role: string;
  passwordHash: string;
}

export type UserChanges = Pick<UserRow, "name" | "role" | "enabled">;

const COLUMNS = "id, client_id, email, name, role, enabled, last_login_at, created_at";

const INSERT = sql(`
  insert into users (id, client_id, email, name, role, password_hash)
  values ($1, $2, $3, $4, $5, $6)
  on conflict (lower(email)) do nothing
  returning ${COLUMNS}`);

const LIST = byNewest(`
  select ${COLUMNS}
  from users
  where client_id = $1`);

const LOCK = sql(`
  select ${COLUMNS}
  from users
  where client_id = $1
  and id = $2
  for update`);

const LOCK_OWNERS = sql(`
  select id
  from users
  where client_id = $1
  and role = 'owner'
  and enabled
  order by id
  for update`);

const UPDATE = sql(`
  update users
  set name = $3, role = $4, enabled = $5,
    tokens_valid_from = case when enabled and not $5 then clock_timestamp() else tokens_valid_from end
  where client_id = $1
  and id = $2
  returning ${COLUMNS}`);

const SET_PASSWORD = sql(`
  update users
  set password_hash = $3, tokens_valid_from = clock_timestamp()
  where client_id = $1
  and id = $2
  and ($4::text is null or password_hash = $4)
  returning id`);

const RECORD_LOGIN = sql(`
  update users
  set last_login_at = clock_timestamp()
  where client_id = $1
  and id = $2
  and password_hash = $3
  and enabled
  returning id`);

const selectCredential = (condition: string) =>
  sql(`
  select ${COLUMNS.replaceAll(/\w+/g, "u.$&")}, u.password_hash, u.tokens_valid_from, c.name as client_name
  from users u
  join clients c on c.id = u.client_id and c.deleted_at is null
  where ${condition}`);

const FIND_CREDENTIAL = selectCredential("u.id = $1");
const FIND_BY_EMAIL = selectCredential("lower(u.email) = lower($1)");

/** One statement for known and unknown emails and networks, so that none of them takes longer than another. */
const HAS_SIGNED_IN = sql(`
  select exists (
    select
    from users u
    join sessions s on s.user_id = u.id
    where lower(u.email) = lower($1)
    and s.network = $2
    and s.created_at > now() - $3 * interval '1 millisecond'
  ) as is_known`);

/** Undefined when the email is taken, by any client. */
export async function insertUser(
  db: Queryable,
  clientId: string,
  user: NewUser,
): Promise<UserRow | undefined> {
  const { id, email, name, role, passwordHash } = user;
  const [row] = await db.query<UserRow>(INSERT, [id, clientId, email, name, role, passwordHash]);
  return row;
}

export const listUsers = (db: Queryable, clientId: string, page: PageRequest): Promise<UserRow[]> =>
  readPage(db, clientId, { page, statements: LIST });

/** Locks the user until the transaction ends, so that concurrent changes do not overwrite each other. */
export async function lockUser(tx: Queryable, clientId: string, id: string): Promise<UserRow | undefined> {
  const [row] = await tx.query<UserRow>(LOCK, [clientId, id]);
  return row;
}

/**
 * Locks the client's enabled owners until the transaction ends: two of them cannot be removed concurrently.
 */
export async function lockOwners(tx: Queryable, clientId: string): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(LOCK_OWNERS, [clientId]);
  return rows.map((row) => row.id);
}

/** Disabling the user also revokes the tokens issued before: enabling it again must not revive them. */
export async function updateUser(
  db: Queryable,
  clientId: string,
  { id, name, role, enabled }: UserChanges & { id: string },
): Promise<UserRow> {
  const [row] = await db.query<UserRow>(UPDATE, [clientId, id, name, role, enabled]);
  return row as UserRow;
}

export interface NewPassword {
  id: string;
  passwordHash: string;
  /**
   * The hash that the old password was verified against, if it was: another may be set while that takes
   * place.
   */
  replaces?: string | undefined;
}

/** Also revokes tokens issued before. False when the user does not exist or has another password by now. */
export async function setPassword(
  db: Queryable,
  clientId: string,
  { id, passwordHash, replaces }: NewPassword,
): Promise<boolean> {
  const rows = await db.query(SET_PASSWORD, [clientId, id, passwordHash, replaces ?? null]);
  return rows.length > 0;
}

/**
 * Records the login time. False when the password was changed or the user disabled since the lookup:
 * verifying takes a while, and the old password must no longer grant access.
 */
export async function recordLogin(tx: Queryable, user: UserCredentialRow): Promise<boolean> {
  const rows = await tx.query(RECORD_LOGIN, [user.client_id, user.id, user.password_hash]);
  return rows.length > 0;
}

/** Spans all clients: the caller needs to find out the user's client. */
export async function findUserCredential(db: Queryable, id: string): Promise<UserCredentialRow | undefined> {
  const [row] = await db.query<UserCredentialRow>(FIND_CREDENTIAL, [id]);
  return row;
}

/** Spans all clients: true when the email's user signed in from the network within this time. */
export async function hasSignedInFrom(
  db: Queryable,
  email: string,
  { network, withinMs }: { network: string; withinMs: number },
): Promise<boolean> {
  const [row] = await db.query<{ is_known: boolean }>(HAS_SIGNED_IN, [email, network, withinMs]);
  return row?.is_known ?? false;
}

/** Spans all clients: an email belongs to one user. */
export async function findUserByEmail(db: Queryable, email: string): Promise<UserCredentialRow | undefined> {
  const [row] = await db.query<UserCredentialRow>(FIND_BY_EMAIL, [email]);
  return row;
}
