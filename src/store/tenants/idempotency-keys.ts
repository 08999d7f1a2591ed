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
  on conflict (client_id, id) do update
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
function deleteExpired(table: "idempotency_keys" | "claimed_operations") {
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

/** An operation with an Idempotency-Key that calls a platform. */
export interface ClaimedOperationRow {
  fingerprint: string;
  state: "claimed" | "ambiguous" | "completed";
  /** True when the request that claimed the operation no longer works on it. */
  is_lease_expired: boolean;
  /** True when the key is no longer remembered. */
  is_expired: boolean;
  reply_sealed: string | null;
  created_at: Date;
}

/** One claim of an operation. */
export interface OperationClaim {
  clientId: string;
  operationId: string;
  claimId: string;
}

interface NewClaim extends OperationClaim {
  fingerprint: string;
  leaseMs: number;
}

const INSERT_CLAIM = sql(`
  insert into claimed_operations (id, client_id, fingerprint, state, claim_id, leased_until)
  values ($2, $1, $3, 'claimed', $4, now() + $5 * interval '1 millisecond')
  on conflict (client_id, id) do nothing
  returning 1 as one`);

/** False when the operation exists already. */
export async function insertClaim(tx: Queryable, claim: NewClaim): Promise<boolean> {
  const { clientId, operationId, fingerprint, claimId, leaseMs } = claim;
  const rows = await tx.query(INSERT_CLAIM, [clientId, operationId, fingerprint, claimId, leaseMs]);
  return rows.length > 0;
}

const LOCK = sql(`
  select fingerprint, state, reply_sealed, created_at,
    leased_until < now() as is_lease_expired,
    created_at < now() - $3 * interval '1 millisecond' as is_expired
  from claimed_operations
  where client_id = $1
  and id = $2
  for update`);

export async function lockOperation(
  tx: Queryable,
  clientId: string,
  operationId: string,
): Promise<ClaimedOperationRow | undefined> {
  const [row] = await tx.query<ClaimedOperationRow>(LOCK, [clientId, operationId, IDEMPOTENCY_KEY_TTL_MS]);
  return row;
}

const TAKE_OVER = sql(`
  update claimed_operations
  set state = 'claimed', claim_id = $3, leased_until = now() + $4 * interval '1 millisecond'
  where client_id = $1
  and id = $2`);

/** Claims an existing operation, which must be locked. */
export async function takeOverOperation(tx: Queryable, claim: Omit<NewClaim, "fingerprint">): Promise<void> {
  const { clientId, operationId, claimId, leaseMs } = claim;
  await tx.query(TAKE_OVER, [clientId, operationId, claimId, leaseMs]);
}

const DELETE_OPERATION = sql(`
  delete from claimed_operations
  where client_id = $1
  and id = $2`);

/** Forgets an operation, which must be locked. */
export async function deleteOperation(tx: Queryable, clientId: string, operationId: string): Promise<void> {
  await tx.query(DELETE_OPERATION, [clientId, operationId]);
}

const OWN_CLAIM = `
  where client_id = $1
  and id = $2
  and claim_id = $3
  and state = 'claimed'`;

const RENEW = sql(`
  update claimed_operations
  set leased_until = now() + $4 * interval '1 millisecond'
  ${OWN_CLAIM}
  returning 1 as one`);

/** False when the claim was lost. */
export async function renewClaim(db: Queryable, claim: OperationClaim, leaseMs: number): Promise<boolean> {
  const rows = await db.query(RENEW, [...claimParams(claim), leaseMs]);
  return rows.length > 0;
}

const COMPLETE = sql(`
  update claimed_operations
  set state = 'completed', reply_sealed = $4
  ${OWN_CLAIM}`);

export async function completeClaim(db: Queryable, claim: OperationClaim, reply: string): Promise<void> {
  await db.query(COMPLETE, [...claimParams(claim), reply]);
}

const MARK_AMBIGUOUS = sql(`
  update claimed_operations
  set state = 'ambiguous'
  ${OWN_CLAIM}`);

export async function markClaimAmbiguous(db: Queryable, claim: OperationClaim): Promise<void> {
  await db.query(MARK_AMBIGUOUS, claimParams(claim));
}

const RELEASE = sql(`
  delete from claimed_operations
  ${OWN_CLAIM}`);

export async function releaseClaim(db: Queryable, claim: OperationClaim): Promise<void> {
  await db.query(RELEASE, claimParams(claim));
}

const claimParams = ({ clientId, operationId, claimId }: OperationClaim) => [clientId, operationId, claimId];

/** Spans all clients: deletes up to `limit` expired operations; returns how many. */
export const deleteExpiredOperations = deleteExpired("claimed_operations");
