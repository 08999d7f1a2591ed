import { type Queryable, sql } from "../database/database.ts";
import { byNewest, type PageRequest, readPage } from "../database/paging.ts";

export interface SessionRow {
  id: string;
  client_id: string;
  user_id: string;
  created_at: Date;
  last_used_at: Date;
  expires_at: Date;
  address: string | null;
  user_agent: string | null;
}

export interface NewSession {
  id: string;
  userId: string;
  expiresAt: Date;
  address: string | null;
  network: string | null;
  userAgent: string | null;
}

const COLUMNS = "id, client_id, user_id, created_at, last_used_at, expires_at, address, user_agent";

/** The clock's time, not the transaction's: a password changed while this waited for the user's row is older. */
const INSERT = sql(`
  insert into sessions (id, client_id, user_id, created_at, last_used_at, expires_at, address, network, user_agent)
  select $2, $1, $3, at, at, $4, $5, $6, $7
  from clock_timestamp() at
  returning ${COLUMNS}`);

const LIST = byNewest(`
  select ${COLUMNS}
  from sessions
  where client_id = $1
  and user_id = $4
  and ended_at is null
  and expires_at > now()`);

const FIND = sql(`
  select ${COLUMNS}
  from sessions
  where id = $1
  and ended_at is null`);

const TOUCH = sql(`
  update sessions
  set last_used_at = now()
  where id = $1
  and last_used_at < now() - interval '1 minute'`);

const END = sql(`
  update sessions
  set ended_at = now()
  where client_id = $1
  and user_id = $2
  and id = $3
  and ended_at is null
  and expires_at > now()
  returning id`);

const END_ALL = sql(`
  update sessions
  set ended_at = now()
  where client_id = $1
  and user_id = $2
  and ended_at is null
  and expires_at > now()
  returning id`);

const DELETE_OLD = sql(`
  delete from sessions
  where id = any(array(
    select id
    from sessions
    where coalesce(ended_at, expires_at) < now() - $1 * interval '1 millisecond'
    limit $2
  ))
  returning 1 as one`);

export async function insertSession(
  tx: Queryable,
  clientId: string,
  session: NewSession,
): Promise<SessionRow> {
  const { id, userId, expiresAt, address, network, userAgent } = session;
  const values = [clientId, id, userId, expiresAt, address, network, userAgent];
  const [row] = await tx.query<SessionRow>(INSERT, values);
  return row as SessionRow;
}

/** The user's sessions that neither ended nor expired. */
export const listSessions = (
  db: Queryable,
  clientId: string,
  { userId, page }: { userId: string; page: PageRequest },
): Promise<SessionRow[]> => readPage(db, clientId, { page, statements: LIST, filters: [userId] });

/** Spans all clients: the caller needs to find out the session's user. Undefined for an ended session. */
export async function findSession(db: Queryable, id: string): Promise<SessionRow | undefined> {
  const [row] = await db.query<SessionRow>(FIND, [id]);
  return row;
}

/** Spans all clients: records that the session was used, at most once a minute. */
export async function touchSession(db: Queryable, id: string): Promise<void> {
  await db.query(TOUCH, [id]);
}

/** False when the user has no such session, or it ended or expired before. */
export async function endSession(
  tx: Queryable,
  clientId: string,
  { userId, id }: { userId: string; id: string },
): Promise<boolean> {
  const rows = await tx.query(END, [clientId, userId, id]);
  return rows.length > 0;
}

/** Ends all sessions of the user; returns their ids. */
export async function endUserSessions(tx: Queryable, clientId: string, userId: string): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(END_ALL, [clientId, userId]);
  return rows.map((row) => row.id);
}

/** Spans all clients: deletes up to `limit` sessions that ended or expired this long ago; returns how many. */
export async function deleteOldSessions(db: Queryable, retentionMs: number, limit: number): Promise<number> {
  const rows = await db.query(DELETE_OLD, [retentionMs, limit]);
  return rows.length;
}
