import { type Queryable, sql } from "../database/database.ts";
import { type EmbedSessionRow, END_TRY, IS_USABLE, RESET_TRY, SESSION_COLUMNS } from "./sessions.ts";

/** Everything here spans all clients: a person holds the token of a session and no credential of its client. */

/** A session with its current try; the try's columns are null when none runs, but for the platform of the latest one. */
export interface EmbedTryRow extends EmbedSessionRow {
  tries: number;
  try_id: string | null;
  try_platform: string | null;
  try_phase: string | null;
  /** JSON of the assets to choose from; in the phase `pin`, of the number. */
  choices: string | null;
  pin_tries_left: number | null;
}

/** Identifies the request that runs the steps of a try. */
export interface TryLease {
  sessionId: string;
  lease: string;
}

const IS_LIVE = `${IS_USABLE} and try_until > now()`;

const whenLive = (column: string) => `case when ${IS_LIVE} then ${column} end as ${column}`;

const COLUMNS = `${SESSION_COLUMNS}, tries, try_platform,
    ${["try_id", "try_phase", "choices", "pin_tries_left"].map(whenLive).join(", ")}`;

const FIND = sql(`
  select ${COLUMNS}
  from embed_sessions
  where token_hash = $1`);

export async function findEmbedTry(db: Queryable, tokenHash: string): Promise<EmbedTryRow | undefined> {
  const [row] = await db.query<EmbedTryRow>(FIND, [tokenHash]);
  return row;
}

const FIND_SESSION = sql(`
  select ${SESSION_COLUMNS}
  from embed_sessions
  where id = $1`);

/** The session of a try. Undefined when its client was deleted. */
export async function findSessionOfTry(
  db: Queryable,
  { sessionId }: { sessionId: string },
): Promise<EmbedSessionRow | undefined> {
  const [row] = await db.query<EmbedSessionRow>(FIND_SESSION, [sessionId]);
  return row;
}

const OPEN = sql(`
  update embed_sessions
  set status = 'opened', opened_at = now()
  where id = $1
  and status = 'pending'
  and expires_at > now()`);

/** Marks a pending session as opened. */
export async function markOpened(db: Queryable, sessionId: string): Promise<void> {
  await db.query(OPEN, [sessionId]);
}

const BEGIN = sql(`
  update embed_sessions
  set
    status = 'opened',
    opened_at = coalesce(opened_at, now()),
    error_code = null,
    error_message = null,
    error_step = null,
    tries = tries + 1,
    try_id = $2,
    try_platform = $3,
    try_phase = 'dialog',
    try_until = now() + $4 * interval '1 millisecond',
    ${RESET_TRY}
  where id = $1
  and ${IS_USABLE}
  and tries < $5
  returning 1 as one`);

interface NewTry {
  sessionId: string;
  tryId: string;
  platform: string;
  ttlMs: number;
  maxTries: number;
}

/** Replaces the current try. False when the session can no longer be used, or has had too many tries. */
export async function insertTry(db: Queryable, newTry: NewTry): Promise<boolean> {
  const { sessionId, tryId, platform, ttlMs, maxTries } = newTry;
  const rows = await db.query(BEGIN, [sessionId, tryId, platform, ttlMs, maxTries]);
  return rows.length > 0;
}

const CANCEL = sql(`
  update embed_sessions
  set ${END_TRY}
  where id = $1
  and try_id = $2
  and ${IS_USABLE}
  and (try_phase = any($3) or try_until <= now())
  returning 1 as one`);

/** Ends the try if it is in one of these phases or its process has died. */
export async function cancelTry(
  db: Queryable,
  { sessionId, tryId, phases }: { sessionId: string; tryId: string; phases: readonly string[] },
): Promise<boolean> {
  const rows = await db.query(CANCEL, [sessionId, tryId, phases]);
  return rows.length > 0;
}

const CLAIM = sql(`
  update embed_sessions
  set
    try_phase = 'connecting',
    try_lease = $4,
    try_until = now() + $5 * interval '1 millisecond',
    pin_tries_left = case try_phase when 'pin' then pin_tries_left - 1 end
  where id = $1
  and try_id = $2
  and try_phase = $3
  and ${IS_LIVE}
  returning ${COLUMNS}, grant_sealed`);

export type ClaimedTryRow = EmbedTryRow & { grant_sealed: string | null };

interface TryClaim extends TryLease {
  tryId: string;
  phase: string;
  leaseMs: number;
}

/** Claims the steps of a try for one request. Undefined when the try has left the phase or ended. */
export async function claimTry(db: Queryable, claim: TryClaim): Promise<ClaimedTryRow | undefined> {
  const { sessionId, tryId, phase, lease, leaseMs } = claim;
  const [row] = await db.query<ClaimedTryRow>(CLAIM, [sessionId, tryId, phase, lease, leaseMs]);
  return row;
}

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
