import { type Queryable, sql } from "../database/database.ts";

const CONSUME = sql(`
  insert into oauth_states (id, expires_at)
  values ($1, $2)
  on conflict do nothing
  returning id`);

const DELETE_EXPIRED = sql(`
  delete from oauth_states
  where expires_at < now() - interval '1 hour'
  returning id`);

/** True on the first use of the state. Spans all clients: the state itself names its client. */
export async function consumeState(
  db: Queryable,
  { id, expiresAt }: { id: string; expiresAt: Date },
): Promise<boolean> {
  const rows = await db.query(CONSUME, [id, expiresAt]);
  return rows.length === 1;
}

/**
 * Spans all clients. Keeps states one hour longer: a process rejects expired states by its own clock, which
 * may be behind.
 */
export async function deleteExpiredStates(db: Queryable): Promise<number> {
  const rows = await db.query(DELETE_EXPIRED);
  return rows.length;
}
