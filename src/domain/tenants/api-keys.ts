import { MINUTE } from "../../runtime/durations.ts";
import type { Scope } from "../../schema/enumerations.ts";
import { issueApiKey } from "../../security/api-keys.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import {
  type ApiKeyRow,
  insertApiKey,
  isActiveApiKey,
  lockApiKey,
  replaceApiKey,
  revokeApiKey,
} from "../../store/tenants/api-keys.ts";
import { type AuditActor, recordAudit } from "../../store/tenants/audit-log.ts";

export interface KeyInput {
  name: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
  production: boolean;
}

export interface CreatedKey {
  row: ApiKeyRow;
  /** The full key; only its hash is stored. */
  text: string;
}

async function issueKey(
  tx: Queryable,
  { clientId, credential }: AuditActor,
  input: KeyInput,
): Promise<CreatedKey> {
  const { text, ...columns } = issueApiKey(input);
  const { name, scopes, expiresAt } = input;
  const createdBy = credential.type === "user" ? credential : null;
  return { row: await insertApiKey(tx, clientId, { ...columns, name, scopes, expiresAt, createdBy }), text };
}

export function createKey(db: Database, actor: AuditActor, input: KeyInput): Promise<CreatedKey> {
  return db.transaction(async (tx) => {
    const created = await issueKey(tx, actor, input);
    const { id, name, scopes, expires_at } = created.row;
    const details = { name, scopes, expires_at };
    await recordAudit(tx, actor, { action: "key.created", target: id, details });
    return created;
  });
}

export type RotateOutcome =
  | { outcome: "rotated"; created: CreatedKey }
  | { outcome: "absent" }
  | { outcome: "ended" }
  | { outcome: "replaced"; by: string };

/**
 * Issues a key with the same name, scopes and expiry. The old key works for the grace period, but not beyond
 * its own expiry.
 */
export function rotateKey(
  db: Database,
  actor: AuditActor,
  { id, graceMinutes, production }: { id: string; graceMinutes: number; production: boolean },
): Promise<RotateOutcome> {
  const { clientId } = actor;
  return db.transaction(async (tx): Promise<RotateOutcome> => {
    const old = await lockApiKey(tx, clientId, id);
    if (!old) return { outcome: "absent" };
    // The expiry is the end of the grace period by now, which a second successor must not inherit.
    if (old.replaced_by !== null) return { outcome: "replaced", by: old.replaced_by };
    if (!isActiveApiKey(old)) return { outcome: "ended" };
    const { name, scopes, expires_at: expiresAt } = old;
    const created = await issueKey(tx, actor, { name, scopes: scopes as Scope[], expiresAt, production });
    await replaceApiKey(tx, clientId, { id, replacedBy: created.row.id, graceMs: graceMinutes * MINUTE });
    const details = { new_key: created.row.id, grace_minutes: graceMinutes };
    await recordAudit(tx, actor, { action: "key.rotated", target: id, details });
    return { outcome: "rotated", created };
  });
}

/** True when the client has such a key. Revoking it twice changes nothing. */
export function revokeKey(db: Database, actor: AuditActor, id: string): Promise<boolean> {
  const { clientId } = actor;
  return db.transaction(async (tx) => {
    const row = await lockApiKey(tx, clientId, id);
    if (row && (await revokeApiKey(tx, clientId, id)))
      await recordAudit(tx, actor, { action: "key.revoked", target: id, details: { name: row.name } });
    return row !== undefined;
  });
}
