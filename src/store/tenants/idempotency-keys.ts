import { DAY } from "../../runtime/durations.ts";
import { type Queryable, sql } from "../database/database.ts";

/** How long an idempotency key is remembered. */
export const IDEMPOTENCY_KEY_TTL_MS = 1 * DAY;

export interface IdempotencyKeyRow {
  fingerprint: string;
  reply_sealed: string;
}

const FIND = sql(`
  select fingerprint, reply_sealed
  from idempotency_keys
  where client_id = $1
  and id = $2
  and created_at >= now() - $3 * interval '1 millisecond'`);

/** Undefined when the key is unknown or expired. */
export async function findIdempotencyKey(
  db: Queryable,
  clientId: string,
  id: string,
): Promise<IdempotencyKeyRow | undefined> {
  const [row] = await db.query<IdempotencyKeyRow>(FIND, [clientId, id, IDEMPOTENCY_KEY_TTL_MS]);
  return row;
}

const DELETE_EXPIRED = sql(`
  delete from idempotency_keys
  where ctid = any(array(
    select ctid
    from idempotency_keys
    where created_at < now() - $1 * interval '1 millisecond'
    limit $2
  ))
  and created_at < now() - $1 * interval '1 millisecond'
  returning 1 as one`);

/** Spans all clients: deletes up to `limit` expired keys; returns how many. */
export async function deleteExpiredIdempotencyKeys(db: Queryable, limit: number): Promise<number> {
  const rows = await db.query(DELETE_EXPIRED, [IDEMPOTENCY_KEY_TTL_MS, limit]);
  return rows.length;
}
