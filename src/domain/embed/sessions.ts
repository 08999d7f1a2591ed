import { newId } from "../../runtime/ids.ts";
import type { EmbedLocale, EmbedTheme, Platform } from "../../schema/enumerations.ts";
import { issueEmbedToken } from "../../security/sealed-tokens.ts";
import type { Database } from "../../store/database/database.ts";
import {
  type EmbedSessionRow,
  findEmbedSession,
  insertEmbedSession,
  markRevoked,
} from "../../store/embed/sessions.ts";
import { type AuditActor, recordAudit } from "../../store/tenants/audit-log.ts";
import {
  findIdempotencyKey,
  type IdempotencyKeyRow,
  insertIdempotencyKey,
} from "../../store/tenants/idempotency-keys.ts";

export interface EmbedSessionInput {
  allowedOrigins: readonly string[];
  platforms: readonly Platform[];
  externalRef: string | null;
  /** JSON. */
  prefill: string | null;
  theme: EmbedTheme;
  locale: EmbedLocale;
  /** `#rrggbb`; null for the page's own colour. */
  accentColor: string | null;
  ttlMinutes: number;
}

/** A new session. Its token is shown once. */
export interface CreatedSession {
  row: EmbedSessionRow;
  token: string;
}

/** The operation of an Idempotency-Key. */
interface KeyedCreation {
  id: string;
  fingerprint: string;
  seal(created: CreatedSession): string;
}

export type CreateOutcome =
  | ({ outcome: "created" } & CreatedSession)
  /** An earlier request with this key succeeded. */
  | { outcome: "known"; key: IdempotencyKeyRow };

/** Creates a session and stores the reply to its Idempotency-Key in the same transaction. */
export async function createSession(
  db: Database,
  actor: AuditActor,
  { input, operation }: { input: EmbedSessionInput; operation: KeyedCreation | undefined },
): Promise<CreateOutcome> {
  const { clientId } = actor;
  const known = operation && (await findIdempotencyKey(db, clientId, operation.id));
  if (known) return { outcome: "known", key: known };
  const { token, tokenHash } = issueEmbedToken();
  const id = newId("es");
  try {
    return await db.transaction(async (tx) => {
      const row = await insertEmbedSession(tx, clientId, { ...input, id, tokenHash });
      const { allowedOrigins: allowed_origins, platforms } = input;
      const details = { allowed_origins, platforms };
      await recordAudit(tx, actor, { action: "embed_session.created", target: id, details });
      if (!operation) return { outcome: "created", row, token };
      const { id: keyId, fingerprint, seal } = operation;
      const key = { id: keyId, fingerprint, reply_sealed: seal({ row, token }) };
      if (!(await insertIdempotencyKey(tx, clientId, key))) throw new KeyTaken();
      return { outcome: "created", row, token };
    });
  } catch (error) {
    if (!(error instanceof KeyTaken)) throw error;
    return createSession(db, actor, { input, operation });
  }
}

/** Rolls a creation back: another process has just stored its reply to the same key. */
class KeyTaken extends Error {}

export type RevokeOutcome =
  | { outcome: "revoked"; row: EmbedSessionRow }
  | { outcome: "absent" }
  /** It is completed or expired. */
  | { outcome: "ended"; status: string };

/** Revoking a revoked session changes nothing. */
export function revokeSession(db: Database, actor: AuditActor, id: string): Promise<RevokeOutcome> {
  return db.transaction<RevokeOutcome>(async (tx) => {
    const revoked = await markRevoked(tx, actor.clientId, id);
    if (revoked) await recordAudit(tx, actor, { action: "embed_session.revoked", target: id });
    const row = revoked ?? (await findEmbedSession(tx, actor.clientId, id));
    if (!row) return { outcome: "absent" };
    return row.status === "revoked" ? { outcome: "revoked", row } : { outcome: "ended", status: row.status };
  });
}
