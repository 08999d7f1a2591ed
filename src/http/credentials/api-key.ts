import type { Log } from "../../runtime/logging/log.ts";
import { isMatchingSecret, type PresentedApiKey, parseApiKey } from "../../security/api-keys.ts";
import type { Queryable } from "../../store/database/database.ts";
import { type ApiKeyCredentialRow, isActiveApiKey, touchApiKey } from "../../store/tenants/api-keys.ts";
import type { CredentialScheme } from "../caller.ts";
import type { CredentialCaches } from "./caches.ts";
import { createUseRecorder } from "./use-recorder.ts";

const HEADER = "x-svc-api-key";

interface ApiKeyParts {
  db: Queryable;
  caches: Pick<CredentialCaches, "keys">;
  log: Log;
}

/** Authenticates a client's backend by the API key in its header. */
export function apiKeyScheme({ db, caches: { keys }, log }: ApiKeyParts): CredentialScheme {
  const recordUse = createUseRecorder(
    (id) => touchApiKey(db, id),
    (key, err) => log.warn("api_key.last_used_update_failed", { key, err }),
  );
  return {
    challenge: `ApiKey realm="herald", header="${HEADER}"`,
    isPresent: (headers) => headers[HEADER] !== undefined,
    async verify(headers) {
      const presented = parseApiKey(String(headers[HEADER]));
      const key = presented && (await keys.find(presented.id));
      if (!key || !isValid(key.row, presented)) return undefined;
      recordUse(key.row);
      return key.caller;
    },
  };
}

function isValid(row: ApiKeyCredentialRow, { prefix, secret }: PresentedApiKey): boolean {
  return row.prefix === prefix && isMatchingSecret(secret, row.secret_hash) && isActiveApiKey(row);
}
