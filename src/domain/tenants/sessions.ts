import { networkOf } from "../../runtime/http/addresses.ts";
import { newId } from "../../runtime/ids.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import { type AuditActor, recordAudit, recordAuditOfEach } from "../../store/tenants/audit-log.ts";
import { endSession, endUserSessions, insertSession, type SessionRow } from "../../store/tenants/sessions.ts";
import { lockUser, recordLogin, type UserCredentialRow } from "../../store/tenants/users.ts";

/** The request that signs in, or tries to. */
export interface SignInRequest {
  address: string;
  requestId: string;
  userAgent: string | undefined;
}

const MAX_USER_AGENT_LENGTH = 512;

/** The user who signs in, as the audit log records it. */
const signInActor = (
  { client_id, id, name }: UserCredentialRow,
  { address, requestId }: Pick<SignInRequest, "address" | "requestId">,
): AuditActor => ({
  clientId: client_id,
  credential: { type: "user", id, name },
  address,
  requestId,
});

/**
 * Starts the session of a user whose password was verified. Undefined when the password was changed or the user disabled
 * since the lookup: both lock the user's row, so no session starts after them.
 */
export function signIn(
  db: Database,
  user: UserCredentialRow,
  { request, ttlMs }: { request: SignInRequest; ttlMs: number },
): Promise<SessionRow | undefined> {
  const actor = signInActor(user, request);
  return db.transaction(async (tx) => {
    if (!(await recordLogin(tx, user))) return undefined;
    const userAgent = request.userAgent?.slice(0, MAX_USER_AGENT_LENGTH) ?? null;
    return startSession(tx, actor, { userId: user.id, ttlMs, userAgent });
  });
}

/** Starts a session without a password, for the command line. Undefined when the user is disabled or absent. */
export function issueSession(
  db: Database,
  actor: AuditActor,
  { userId, ttlMs, details }: { userId: string; ttlMs: number; details: Record<string, unknown> },
): Promise<SessionRow | undefined> {
  return db.transaction(async (tx) => {
    const user = await lockUser(tx, actor.clientId, userId);
    if (!user?.enabled) return undefined;
    const session = await startSession(tx, actor, { userId, ttlMs, userAgent: null });
    await recordAudit(tx, actor, { action: "user.token_issued", target: userId, details });
    return session;
  });
}

async function startSession(
  tx: Queryable,
  actor: AuditActor,
  { userId, ttlMs, userAgent }: { userId: string; ttlMs: number; userAgent: string | null },
): Promise<SessionRow> {
  const { clientId, address } = actor;
  const session = await insertSession(tx, clientId, {
    id: newId("ses"),
    userId,
    expiresAt: new Date(Date.now() + ttlMs),
    address,
    network: address === null ? null : networkOf(address),
    userAgent,
  });
  const details = { user_id: userId, user_agent: userAgent };
  await recordAudit(tx, actor, { action: "session.started", target: session.id, details });
  return session;
}

/** Records a wrong password for an existing user, or the right one of a disabled user. */
export const recordRefusedSignIn = (
  db: Database,
  user: UserCredentialRow,
  request: SignInRequest,
): Promise<void> =>
  recordAudit(db, signInActor(user, request), { action: "session.refused", target: user.id });

/** Ends one session of the user for good. False when there is no such session. */
export function endOwnSession(db: Database, actor: AuditActor, id: string): Promise<boolean> {
  const { clientId, credential } = actor;
  return db.transaction(async (tx) => {
    const isEnded = await endSession(tx, clientId, { userId: credential.id, id });
    if (isEnded) await recordAudit(tx, actor, { action: "session.ended", target: id });
    return isEnded;
  });
}

/** Ends all sessions of a user, in the transaction of the change that requires it. */
export async function endSessionsOf(
  tx: Queryable,
  actor: AuditActor,
  { userId, reason }: { userId: string; reason: "user_disabled" | "password_changed" },
): Promise<void> {
  const targets = await endUserSessions(tx, actor.clientId, userId);
  await recordAuditOfEach(tx, actor, {
    action: "session.ended",
    targets,
    details: { user_id: userId, reason },
  });
}
