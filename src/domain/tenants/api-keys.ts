import { MINUTE } from "../../runtime/durations.ts";
import type { Scope } from "../../schema/enumerations.ts";
import { issueApiKey } from "../../security/api-keys.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import {
  type ApiKeyRow,
  insertApiKey,
  isAlive,
  lockApiKey,
  replaceApiKey,
  revokeApiKey,
} from "../../store/tenants/api-keys.ts";
import { type Deed, recordAudit } from "../../store/tenants/audit-log.ts";

export interface KeyWish {
  name: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
  production: boolean;
}

export interface MadeKey {
  row: ApiKeyRow;
  /** The only time it is known. */
  text: string;
}

async function issue(tx: Queryable, clientId: string, wish: KeyWish): Promise<MadeKey> {
  const { text, ...kept } = issueApiKey(wish);
  const { name, scopes, expiresAt } = wish;
  return { row: await insertApiKey(tx, clientId, { ...kept, name, scopes, expiresAt }), text };
}

export async function makeKey(tx: Queryable, deed: Deed, wish: KeyWish): Promise<MadeKey> {
  const made = await issue(tx, deed.caller.clientId, wish);
  const { id, name, scopes, expires_at } = made.row;
  await recordAudit(tx, deed, { action: "key.created", target: id, details: { name, scopes, expires_at } });
  return made;
}

export type Rotation =
  | { outcome: "rotated"; made: MadeKey }
  | { outcome: "absent" }
  | { outcome: "ended" }
  | { outcome: "replaced"; by: string };

/** A new key with the old one's name, scopes and end; the old one works for the grace, and no longer than it would have. */
export function rotateKey(
  db: Database,
  deed: Deed,
  { id, graceMinutes, production }: { id: string; graceMinutes: number; production: boolean },
): Promise<Rotation> {
  const { clientId } = deed.caller;
  return db.transaction(async (tx): Promise<Rotation> => {
    const old = await lockApiKey(tx, clientId, id);
    if (!old) return { outcome: "absent" };
    // Its end is the grace by now, which a second successor must not inherit.
    if (old.replaced_by !== null) return { outcome: "replaced", by: old.replaced_by };
    if (!isAlive(old)) return { outcome: "ended" };
    const { name, scopes, expires_at: expiresAt } = old;
    const made = await issue(tx, clientId, { name, scopes: scopes as Scope[], expiresAt, production });
    await replaceApiKey(tx, clientId, { id, replacedBy: made.row.id, grace: graceMinutes * MINUTE });
    const details = { new_key: made.row.id, grace_minutes: graceMinutes };
    await recordAudit(tx, deed, { action: "key.rotated", target: id, details });
    return { outcome: "rotated", made };
  });
}

/** True when the client has such a key; revoking it twice changes nothing. */
export function revokeKey(db: Database, deed: Deed, id: string): Promise<boolean> {
  const { clientId } = deed.caller;
  return db.transaction(async (tx) => {
    const row = await lockApiKey(tx, clientId, id);
    if (row && (await revokeApiKey(tx, clientId, id)))
      await recordAudit(tx, deed, { action: "key.revoked", target: id, details: { name: row.name } });
    return row !== undefined;
  });
}
