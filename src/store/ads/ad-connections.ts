import { type Queryable, sql } from "../database/database.ts";
import { END_CHECK, HAS_NO_DEATHS, IS_CHECKED, IS_CHECKED_ALONE } from "../processes/row-checks.ts";

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

const IS_UNCHECKED = "(checked_in is null or checked_in < $1)";

const claimUnchecked = (condition: string, order: string) =>
  sql(`
  with due as materialized (
    select id
    from ad_connections
    where ${IS_UNCHECKED}
    and ${condition}
    order by ${order}
    limit 1
    for update skip locked
  )
  update ad_connections c
  set checked_in = $1, deaths = c.deaths + 1
  from due
  where c.id = due.id
  returning c.id, c.client_id, c.token_sealed, c.expires_at, c.warned_days`);

const LONGEST_UNCHECKED = "checked_in nulls first, id";
const CLAIM_UNCHECKED = claimUnchecked(HAS_NO_DEATHS, LONGEST_UNCHECKED);
/** Those with few deaths first: a connection with many is more likely to kill the scheduler. */
const CLAIM_SUSPECT = claimUnchecked(IS_CHECKED_ALONE, `deaths, ${LONGEST_UNCHECKED}`);

/**
 * Spans all clients: begins the check of the connection that is unchecked for longest, among the suspects or the others;
 * undefined when this tick has checked all.
 */
export async function claimUncheckedConnection(
  db: Queryable,
  tick: Date,
  areSuspects: boolean,
): Promise<ConnectionRow | undefined> {
  const [row] = await db.query<ConnectionRow>(areSuspects ? CLAIM_SUSPECT : CLAIM_UNCHECKED, [tick]);
  return row;
}

const COUNT_UNCHECKED = sql(`
  select count(*)::integer as count
  from ad_connections
  where ${IS_UNCHECKED}
  and ${IS_CHECKED}`);

/** Spans all clients. */
export async function countUncheckedConnections(db: Queryable, tick: Date): Promise<number> {
  const [row] = await db.query<{ count: number }>(COUNT_UNCHECKED, [tick]);
  return row?.count ?? 0;
}

const END_CONNECTION_CHECK = sql(`
  update ad_connections
  set checked_in = case when $2 then checked_in end, ${END_CHECK}
  where id = $1`);

/** Spans all clients. A connection whose check was stopped (`isChecked` is false) comes first next time. */
export async function endConnectionCheck(db: Queryable, id: string, isChecked: boolean): Promise<void> {
  await db.query(END_CONNECTION_CHECK, [id, isChecked]);
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
