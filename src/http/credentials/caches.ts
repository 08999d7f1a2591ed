import type { Scope } from "../../schema/enumerations.ts";
import type { Queryable } from "../../store/database/database.ts";
import { type ApiKeyCredentialRow, findApiKeyCredential } from "../../store/tenants/api-keys.ts";
import { findClient } from "../../store/tenants/clients.ts";
import { findSession } from "../../store/tenants/sessions.ts";
import { findUserCredential } from "../../store/tenants/users.ts";
import type { Caller } from "../caller.ts";
import { cachedLookup } from "./lookup.ts";

export type CredentialCaches = ReturnType<typeof createCredentialCaches>;

/** The rows that credentials are verified against, cached for a few seconds. */
export function createCredentialCaches(db: Queryable, ttlMs?: number) {
  const caches = {
    keys: cachedLookup(async (id) => {
      const row = await findApiKeyCredential(db, id);
      return row && { row, caller: toKeyCaller(row) };
    }, ttlMs),
    users: cachedLookup((id) => findUserCredential(db, id), ttlMs),
    sessions: cachedLookup((id) => findSession(db, id), ttlMs),
    clients: cachedLookup((id) => findClient(db, id), ttlMs),
  };
  return {
    ...caches,
    /** Makes this process notice a change of the key, user or session with this id at once. */
    forget(id: string): void {
      for (const cache of Object.values(caches)) cache.forget(id);
    },
  };
}

const toKeyCaller = (row: ApiKeyCredentialRow): Caller => ({
  clientId: row.client_id,
  clientName: row.client_name,
  credential: { type: "api_key", id: row.id, name: row.name },
  role: null,
  scopes: new Set(row.scopes as Scope[]),
});
