import { MINUTE } from "../../runtime/durations.ts";
import type { Log } from "../../runtime/logging/log.ts";
import type { Scope } from "../../schema/enumerations.ts";
import { isMatchingSecret, type PresentedApiKey, parseApiKey } from "../../security/api-keys.ts";
import type { Queryable } from "../../store/database/database.ts";
import {
  type ApiKeyCredentialRow,
  findApiKeyCredential,
  isActiveApiKey,
  touchApiKey,
} from "../../store/tenants/api-keys.ts";
import type { Caller, CredentialScheme } from "../caller.ts";
import { cachedLookup } from "./lookup.ts";

const HEADER = "x-svc-api-key";

interface CachedKey {
  row: ApiKeyCredentialRow;
  caller: Caller;
  /** True when last_used_at is less than a minute old or this process has already updated it. */
  isUseRecorded: boolean;
}

/** Authenticates a client's backend by the API key in its header. */
export function apiKeyScheme(db: Queryable, log: Log): CredentialScheme {
  const find = cachedLookup(async (id) => {
    const row = await findApiKeyCredential(db, id);
    return row && toCachedKey(row);
  });

  /** Not awaited: the request does not depend on it, and a failure only leaves last_used_at out of date. */
  function recordUse(key: CachedKey): void {
    if (key.isUseRecorded) return;
    key.isUseRecorded = true;
    touchApiKey(db, key.row.id).catch((error: unknown) =>
      log.warn("api_key.last_used_update_failed", { key: key.row.id, err: error }),
    );
  }

  return {
    challenge: `ApiKey realm="herald", header="${HEADER}"`,
    isPresent: (headers) => headers[HEADER] !== undefined,
    async verify(headers) {
      const presented = parseApiKey(String(headers[HEADER]));
      const key = presented && (await find(presented.id));
      if (!key || !isValid(key.row, presented)) return undefined;
      recordUse(key);
      return key.caller;
    },
  };
}

function toCachedKey(row: ApiKeyCredentialRow): CachedKey {
  return {
    row,
    caller: {
      clientId: row.client_id,
      clientName: row.client_name,
      credential: { type: "api_key", id: row.id, name: row.name },
      role: null,
      scopes: new Set(row.scopes as Scope[]),
    },
    isUseRecorded: row.last_used_at !== null && Date.now() - row.last_used_at.getTime() < MINUTE,
  };
}

function isValid(row: ApiKeyCredentialRow, { prefix, secret }: PresentedApiKey): boolean {
  return row.prefix === prefix && isMatchingSecret(secret, row.secret_hash) && isActiveApiKey(row);
}
