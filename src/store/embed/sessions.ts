import { type Queryable, sql } from "../database/database.ts";
import { byNewest, type PageRequest, readPage } from "../database/paging.ts";

/** An embedded signup session, without its current try. */
export interface EmbedSessionRow {
  id: string;
  client_id: string;
  /** `expired` as soon as an unfinished session has reached `expires_at`. */
  status: string;
  allowed_origins: string[];
  platforms: string[];
  external_ref: string | null;
  /** JSON. */
  prefill: string | null;
  theme: string;
  locale: string;
  accent_color: string | null;
  created_at: Date;
  expires_at: Date;
  opened_at: Date | null;
  completed_at: Date | null;
  revoked_at: Date | null;
  /** JSON. */
  result: string | null;
  error_code: string | null;
  error_message: string | null;
  error_step: string | null;
}

export interface NewEmbedSession {
  id: string;
  tokenHash: string;
  allowedOrigins: readonly string[];
  platforms: readonly string[];
  externalRef: string | null;
  prefill: string | null;
  theme: string;
  locale: string;
  accentColor: string | null;
  ttlMinutes: number;
}

export interface EmbedSessionFilters {
  status?: string;
  external_ref?: string;
}

/** The statuses of a session that can still be used until it expires. */
const UNFINISHED = "status in ('pending', 'opened', 'failed')";

/** The condition of a session that can be used now. */
export const IS_USABLE = `${UNFINISHED} and expires_at > now()`;

/** The condition of an unfinished session that has expired. */
const IS_EXPIRED = `${UNFINISHED} and expires_at <= now()`;

const STATUS = `case when ${IS_EXPIRED} then 'expired' else status end`;

export const SESSION_COLUMNS = `id, client_id, ${STATUS} as status, allowed_origins, platforms, external_ref, prefill,
    theme, locale, accent_color, created_at, expires_at, opened_at, completed_at, revoked_at, result, error_code,
    error_message, error_step`;

/** Assignments that take the try from the request that has claimed it and erase what the person granted. */
export const RESET_TRY = `try_lease = null, grant_sealed = null, grant_user_id = null, granted_at = null, choices = null,
    pin_tries_left = null`;

/** Assignments that end the current try. Its platform stays. */
export const END_TRY = `try_id = null, try_phase = null, try_until = null, ${RESET_TRY}`;

const INSERT = sql(`
  insert into embed_sessions (
    client_id, id, token_hash, allowed_origins, platforms, external_ref, prefill, expires_at, theme, locale, accent_color
  )
  values ($1, $2, $3, $4, $5, $6, $7, now() + $8 * interval '1 minute', $9, $10, $11)
  returning ${SESSION_COLUMNS}`);

export async function insertEmbedSession(
  tx: Queryable,
  clientId: string,
  session: NewEmbedSession,
): Promise<EmbedSessionRow> {
  const { id, tokenHash, allowedOrigins, platforms, externalRef, prefill, ttlMinutes } = session;
  const { theme, locale, accentColor } = session;
  const values = [
    ...[clientId, id, tokenHash, allowedOrigins, platforms, externalRef, prefill, ttlMinutes],
    ...[theme, locale, accentColor],
  ];
  const [row] = await tx.query<EmbedSessionRow>(INSERT, values);
  return row as EmbedSessionRow;
}

const LIST = byNewest(`
  select ${SESSION_COLUMNS}
  from embed_sessions
  where client_id = $1
  and ($4::text is null or ${STATUS} = $4)
  and ($5::text is null or external_ref = $5)`);

export const listEmbedSessions = (
  db: Queryable,
  clientId: string,
  { page, status, external_ref }: EmbedSessionFilters & { page: PageRequest },
): Promise<EmbedSessionRow[]> =>
  readPage(db, clientId, { page, statements: LIST, filters: [status ?? null, external_ref ?? null] });

const FIND = sql(`
  select ${SESSION_COLUMNS}
  from embed_sessions
  where client_id = $1
  and id = $2`);

export async function findEmbedSession(
  db: Queryable,
  clientId: string,
  id: string,
): Promise<EmbedSessionRow | undefined> {
  const [row] = await db.query<EmbedSessionRow>(FIND, [clientId, id]);
  return row;
}

const REVOKE = sql(`
  update embed_sessions
  set status = 'revoked', revoked_at = now(), ${END_TRY}
  where client_id = $1
  and id = $2
  and ${IS_USABLE}
  returning ${SESSION_COLUMNS}`);

/** Revokes the session and ends its try. Undefined when the session can no longer be used. */
export async function markRevoked(
  tx: Queryable,
  clientId: string,
  id: string,
): Promise<EmbedSessionRow | undefined> {
  const [row] = await tx.query<EmbedSessionRow>(REVOKE, [clientId, id]);
  return row;
}

const MARK_EXPIRED = sql(`
  update embed_sessions
  set status = 'expired', ${END_TRY}
  where id = any(array(
    select id
    from embed_sessions
    where ${IS_EXPIRED}
    limit $1
    for update skip locked
  ))
  returning 1 as one`);

/** Spans all clients: marks up to `limit` sessions as expired, which every read reports already; returns how many. */
export async function markExpired(db: Queryable, limit: number): Promise<number> {
  return (await db.query(MARK_EXPIRED, [limit])).length;
}

const ERASE_GRANTS = sql(`
  update embed_sessions
  set ${END_TRY}
  where id = any(array(
    select id
    from embed_sessions
    where grant_sealed is not null
    and try_until <= now()
    limit $1
    for update skip locked
  ))
  returning 1 as one`);

/** Spans all clients: erases the grants of up to `limit` tries that ended without a request; returns how many. */
export async function eraseEndedGrants(db: Queryable, limit: number): Promise<number> {
  return (await db.query(ERASE_GRANTS, [limit])).length;
}

const ERASE_USER_GRANTS = sql(`
  update embed_sessions
  set ${END_TRY}
  where id = any(array(
    select id
    from embed_sessions
    where grant_sealed is not null
    and grant_user_id = $1
    and granted_at <= $2
    order by id
    limit $3
    for update
  ))
  returning 1 as one`);

/** Spans all clients: ends up to `limit` tries that wait with a grant that this person gave up to `until`; returns how many. */
export async function eraseGrantsOfUser(
  db: Queryable,
  { platformUserId, until, limit }: { platformUserId: string; until: Date; limit: number },
): Promise<number> {
  return (await db.query(ERASE_USER_GRANTS, [platformUserId, until, limit])).length;
}

const DELETE_OLD = sql(`
  delete from embed_sessions
  where id = any(array(
    select id
    from embed_sessions
    where expires_at < now() - $1 * interval '1 millisecond'
    limit $2
  ))
  returning 1 as one`);

/** Spans all clients: deletes up to `limit` sessions that expired `ageMs` ago, however they ended; returns how many. */
export async function deleteOldEmbedSessions(db: Queryable, ageMs: number, limit: number): Promise<number> {
  return (await db.query(DELETE_OLD, [ageMs, limit])).length;
}
