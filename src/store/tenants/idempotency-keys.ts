import { DAY } from "../../runtime/durations.ts";
import { type Queryable, sql } from "../database/database.ts";
import { aliveClient } from "./clients.ts";

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

const findFingerprint = (table: "idempotency_keys" | "claimed_operations") =>
  sql(`
  select fingerprint
  from ${table}
  where client_id = $1
  and id = $2
  and created_at >= now() - $3 * interval '1 millisecond'`);

const FIND_FINGERPRINT = {
  idempotency_keys: findFingerprint("idempotency_keys"),
  claimed_operations: findFingerprint("claimed_operations"),
};

/** The fingerprint of the request that a key was used for; undefined when the key is unknown or expired. */
export async function findStoredFingerprint(
  db: Queryable,
  clientId: string,
  { table, id }: { table: keyof typeof FIND_FINGERPRINT; id: string },
): Promise<string | undefined> {
  const values = [clientId, id, IDEMPOTENCY_KEY_TTL_MS];
  const [row] = await db.query<Pick<IdempotencyKeyRow, "fingerprint">>(FIND_FINGERPRINT[table], values);
  return row?.fingerprint;
}

const INSERT = sql(`
  insert into idempotency_keys as k (client_id, id, fingerprint, reply_sealed)
  values (${aliveClient("$1")}, $2, $3, $4)
  on conflict (id) do update
  set fingerprint = excluded.fingerprint, reply_sealed = excluded.reply_sealed, created_at = now()
  where k.created_at < now() - $5 * interval '1 millisecond'
  returning 1 as one`);

/** Stores the reply to a key. False when the key is already used. */
export async function insertIdempotencyKey(
  tx: Queryable,
  clientId: string,
  { id, fingerprint, reply_sealed }: IdempotencyKeyRow & { id: string },
): Promise<boolean> {
  const values = [clientId, id, fingerprint, reply_sealed, IDEMPOTENCY_KEY_TTL_MS];
  return (await tx.query(INSERT, values)).length > 0;
}

/** Returns a function that deletes up to `limit` rows older than the lifetime of a key, and returns how many. */
export function deleteExpired(table: "idempotency_keys" | "claimed_operations") {
  const statement = sql(`
  delete from ${table}
  where ctid = any(array(
    select ctid
    from ${table}
    where created_at < now() - $1 * interval '1 millisecond'
    limit $2
  ))
  and created_at < now() - $1 * interval '1 millisecond'
  returning 1 as one`);
  return async (db: Queryable, limit: number): Promise<number> =>
    (await db.query(statement, [IDEMPOTENCY_KEY_TTL_MS, limit])).length;
}

/** Spans all clients: deletes up to `limit` expired keys; returns how many. */
export const deleteExpiredIdempotencyKeys = deleteExpired("idempotency_keys");
