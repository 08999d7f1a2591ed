import { DAY } from "../../runtime/durations.ts";
import { type Queryable, sql } from "../database/database.ts";

/** For so long an operation is known by its key. */
export const KEYS_KEPT = 1 * DAY;

export interface KnownKey {
  fingerprint: string;
  reply_sealed: string;
}

const FIND = sql(`
  select fingerprint, reply_sealed
  from idempotency_keys
  where client_id = $1
  and id = $2
  and created_at >= now() - $3 * interval '1 millisecond'`);

/** The operation that the key names, where there was one. */
export async function findKey(db: Queryable, clientId: string, id: string): Promise<KnownKey | undefined> {
  const [row] = await db.query<KnownKey>(FIND, [clientId, id, KEYS_KEPT]);
  return row;
}

const FORGET = sql(`
  delete from idempotency_keys
  where ctid = any(array(
    select ctid
    from idempotency_keys
    where created_at < now() - $1 * interval '1 millisecond'
    limit $2
  ))
  and created_at < now() - $1 * interval '1 millisecond'
  returning 1 as one`);

/** Over all clients: up to `limit` of those that count no more. */
export async function forgetKeys(db: Queryable, limit: number): Promise<number> {
  const rows = await db.query(FORGET, [KEYS_KEPT, limit]);
  return rows.length;
}
