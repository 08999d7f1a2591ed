import { type Queryable, sql } from "../database/database.ts";
import { IS_NOT_QUARANTINED, IS_NOT_SUSPECT, IS_SUSPECT } from "../processes/deaths.ts";
import { SET_UNIT_DONE, unitClaims } from "../processes/unit-claims.ts";

/** A connection is a unit of work of the token check. */
export const connectionClaims = unitClaims("ad_connections");

export interface NewConnection {
  id: string;
  platformUserId: string;
  tokenSealed: string;
  tokenHash: string;
  /** Null when the token never expires or its expiry is unknown. */
  expiresAt: Date | null;
}

const INSERT = sql(`
  insert into ad_connections (client_id, id, platform_user_id, token_sealed, token_hash, expires_at)
  values ($1, $2, $3, $4, $5, $6)`);

export async function insertConnection(
  tx: Queryable,
  clientId: string,
  connection: NewConnection,
): Promise<void> {
  const { id, platformUserId, tokenSealed, tokenHash, expiresAt } = connection;
  await tx.query(INSERT, [clientId, id, platformUserId, tokenSealed, tokenHash, expiresAt]);
}

const DELETE_UNUSED = sql(`
  delete from ad_connections c
  where c.client_id = $1
  and not exists (
    select
    from ad_accounts a
    where a.connection_id = c.id
  )`);

/** Deletes connections whose accounts all use another token by now. */
export async function deleteUnusedConnections(tx: Queryable, clientId: string): Promise<void> {
  await tx.query(DELETE_UNUSED, [clientId]);
}

const FIND_OF_USER = sql(`
  select id
  from ad_connections
  where platform_user_id = $1
  and created_at <= $2`);

/** Spans all clients: connections that this person granted up to `until`. */
export async function findConnectionsOfUser(
  tx: Queryable,
  platformUserId: string,
  until: Date,
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(FIND_OF_USER, [platformUserId, until]);
  return rows.map(({ id }) => id);
}

const FIND_SHARING_TOKENS = sql(`
  select id
  from ad_connections
  where id = any($1)
  or token_hash in (
    select token_hash
    from ad_connections
    where id = any($1)
  )`);

/** Spans all clients: these connections and all others with the same token. */
export async function findConnectionsSharingTokens(tx: Queryable, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(FIND_SHARING_TOKENS, [ids]);
  return rows.map(({ id }) => id);
}

const DELETE = sql(`
  delete from ad_connections
  where id = any($1)`);

/** Spans all clients: deletes connections whose tokens are dead. */
export async function deleteConnections(tx: Queryable, ids: readonly string[]): Promise<void> {
  await tx.query(DELETE, [ids]);
}

export interface ConnectionRow {
  id: string;
  client_id: string;
  token_sealed: string;
  expires_at: Date | null;
  warned_days: number | null;
}

const listUnchecked = (condition: string, order: string) => `
  select id, client_id, token_sealed, expires_at, warned_days
  from ad_connections
  where checked_in is distinct from $1
  and ${condition}
  order by ${order}
  limit $2`;

const LONGEST_UNCHECKED = "checked_in nulls first, id";
const LIST_UNCHECKED = sql(listUnchecked(IS_NOT_SUSPECT, LONGEST_UNCHECKED));
/** Those with few deaths first: a connection with many is more likely to kill the scheduler. */
const LIST_UNCHECKED_SUSPECTS = sql(
  listUnchecked(`${IS_SUSPECT} and ${IS_NOT_QUARANTINED}`, `deaths, ${LONGEST_UNCHECKED}`),
);

/**
 * Spans all clients: connections that this tick has not checked, the suspects or the others, longest unchecked
 * first, ordered by the tick that checked them last.
 */
export const listUncheckedConnections = (
  db: Queryable,
  tick: Date,
  { areSuspects, limit }: { areSuspects: boolean; limit: number },
): Promise<ConnectionRow[]> =>
  db.query<ConnectionRow>(areSuspects ? LIST_UNCHECKED_SUSPECTS : LIST_UNCHECKED, [tick, limit]);

const COUNT_UNCHECKED = sql(`
  select count(*)::integer as count
  from ad_connections
  where checked_in is distinct from $1
  and ${IS_NOT_QUARANTINED}`);

/** Spans all clients. */
export async function countUncheckedConnections(db: Queryable, tick: Date): Promise<number> {
  const [row] = await db.query<{ count: number }>(COUNT_UNCHECKED, [tick]);
  return row?.count ?? 0;
}

const MARK_CHECKED = sql(`
  update ad_connections
  set checked_in = $2, ${SET_UNIT_DONE}
  where id = $1`);

/** Spans all clients: records a completed check, successful or not. */
export async function markChecked(db: Queryable, id: string, tick: Date): Promise<void> {
  await db.query(MARK_CHECKED, [id, tick]);
}

/**
 * A warning is repeated only for fewer days, unless the expiry has moved out of the warning range meanwhile.
 */
const SET_EXPIRY = sql(`
  with former as (
    select id, warned_days
    from ad_connections
    where id = $1
    for update
  )
  update ad_connections c
  set
    expires_at = $2,
    warned_days = case when $3::integer is not null then least(f.warned_days, $3) end
  from former f
  where c.id = f.id
  returning $3::integer is not null and c.warned_days is distinct from f.warned_days as is_first`);

/**
 * Spans all clients. A null `expiresAt` means never, a null `warnedDays` no warning. True on the first
 * warning of so few days.
 */
export async function setExpiry(
  tx: Queryable,
  id: string,
  { expiresAt, warnedDays }: { expiresAt: Date | null; warnedDays: number | null },
): Promise<boolean> {
  const [row] = await tx.query<{ is_first: boolean }>(SET_EXPIRY, [id, expiresAt, warnedDays]);
  return row?.is_first ?? false;
}
