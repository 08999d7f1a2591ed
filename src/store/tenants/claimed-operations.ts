import { type Queryable, sql } from "../database/database.ts";
import { deleteExpired, IDEMPOTENCY_KEY_TTL_MS } from "./idempotency-keys.ts";

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

const INSERT = sql(`
  insert into claimed_operations (id, client_id, fingerprint, state, claim_id, leased_until)
  values ($2, $1, $3, 'claimed', $4, now() + $5 * interval '1 millisecond')
  on conflict (id) do nothing
  returning 1 as one`);

/** False when the operation exists already. */
export async function insertClaim(tx: Queryable, claim: NewClaim): Promise<boolean> {
  const { clientId, operationId, fingerprint, claimId, leaseMs } = claim;
  const rows = await tx.query(INSERT, [clientId, operationId, fingerprint, claimId, leaseMs]);
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

const DELETE = sql(`
  delete from claimed_operations
  where client_id = $1
  and id = $2`);

/** Forgets an operation, which must be locked. */
export async function deleteOperation(tx: Queryable, clientId: string, operationId: string): Promise<void> {
  await tx.query(DELETE, [clientId, operationId]);
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
