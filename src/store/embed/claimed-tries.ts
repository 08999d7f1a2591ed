import { type Queryable, sql } from "../database/database.ts";
import { type EmbedSessionRow, END_TRY, IS_USABLE, SESSION_COLUMNS } from "./sessions.ts";
import type { TryLease } from "./tries.ts";

/** Everything here spans all clients: only the request that has claimed a try writes the outcome of its steps. */

/** The condition of the request that has claimed the try. A replaced, revoked or expired try matches no lease. */
const OWN_TRY = `
  where id = $1
  and try_lease = $2
  and ${IS_USABLE}`;

const RENEW = sql(`
  update embed_sessions
  set try_until = now() + $3 * interval '1 millisecond'
  ${OWN_TRY}
  returning 1 as one`);

/** False when the claim was lost. */
export async function renewTry(db: Queryable, { sessionId, lease }: TryLease, leaseMs: number) {
  const rows = await db.query(RENEW, [sessionId, lease, leaseMs]);
  return rows.length > 0;
}

const PAUSE = sql(`
  update embed_sessions
  set
    try_lease = null,
    try_phase = $3,
    try_until = now() + $4 * interval '1 millisecond',
    grant_sealed = $5,
    choices = $6,
    pin_tries_left = $7,
    grant_user_id = $8,
    granted_at = coalesce(granted_at, now())
  ${OWN_TRY}`);

export interface TryPause {
  phase: "choosing" | "pin";
  ttlMs: number;
  grantSealed: string;
  /** The person's id at the platform; null when the platform did not report it. */
  grantUserId: string | null;
  choices: string | null;
  pinTriesLeft: number | null;
}

/** Releases the claim until the person has answered. Does nothing when the claim was lost. */
export async function pauseTry(
  db: Queryable,
  { sessionId, lease }: TryLease,
  pause: TryPause,
): Promise<void> {
  const { phase, ttlMs, grantSealed, choices, pinTriesLeft, grantUserId } = pause;
  const values = [sessionId, lease, phase, ttlMs, grantSealed, choices, pinTriesLeft, grantUserId];
  await db.query(PAUSE, values);
}

const FAIL = sql(`
  update embed_sessions
  set status = 'failed', error_code = $3, error_message = $4, error_step = $5, ${END_TRY}
  ${OWN_TRY}
  returning ${SESSION_COLUMNS}`);

interface TryError {
  code: string;
  message: string;
  step: string;
}

/** Ends the try and marks its session as failed. Undefined when the claim was lost. */
export async function failTry(
  tx: Queryable,
  { sessionId, lease }: TryLease,
  { code, message, step }: TryError,
): Promise<EmbedSessionRow | undefined> {
  const [row] = await tx.query<EmbedSessionRow>(FAIL, [sessionId, lease, code, message, step]);
  return row;
}

/** Compares with the clock, because the transaction may have waited for the row. */
const LOCK = sql(`
  select ${SESSION_COLUMNS}
  from embed_sessions
  ${OWN_TRY}
  and expires_at > clock_timestamp()
  for update`);

/** Locks the session until the transaction ends. Undefined when the claim was lost. */
export async function lockTry(
  tx: Queryable,
  { sessionId, lease }: TryLease,
): Promise<EmbedSessionRow | undefined> {
  const [row] = await tx.query<EmbedSessionRow>(LOCK, [sessionId, lease]);
  return row;
}

const COMPLETE = sql(`
  update embed_sessions
  set status = 'completed', completed_at = now(), result = $2, ${END_TRY}
  where id = $1`);

/** Completes the session, which lockTry has locked. */
export async function completeSession(tx: Queryable, sessionId: string, result: string): Promise<void> {
  await tx.query(COMPLETE, [sessionId, result]);
}
