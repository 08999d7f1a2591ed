import type { Log } from "../../runtime/logging/log.ts";
import {
  isApiKeyText,
  isMatchingSecret,
  type PresentedApiKey,
  parseApiKey,
} from "../../security/api-keys.ts";
import type { Queryable } from "../../store/database/database.ts";
import { type ApiKeyCredentialRow, isActiveApiKey, touchApiKey } from "../../store/tenants/api-keys.ts";
import { type Caller, type CredentialScheme, readBearerToken } from "../caller.ts";
import type { CredentialCaches } from "./caches.ts";
import { createUseRecorder } from "./use-recorder.ts";

const HEADER = "x-svc-api-key";

interface ApiKeyParts {
  db: Queryable;
  caches: Pick<CredentialCaches, "keys">;
  log: Log;
}

/** Authenticates a client's backend by its API key, in the key's own header or as a Bearer token, as generated clients send it. */
export function apiKeySchemes({ db, caches: { keys }, log }: ApiKeyParts): CredentialScheme[] {
  const recordUse = createUseRecorder(
    (id) => touchApiKey(db, id),
    (key, err) => log.warn("api_key.last_used_update_failed", { key, err }),
  );
  async function verify(text: string): Promise<Caller | undefined> {
    const presented = parseApiKey(text);
    const key = presented && (await keys.find(presented.id));
    if (!key || !isValid(key.row, presented)) return undefined;
    recordUse(key.row);
    return key.caller;
  }

  return [
    {
      challenge: `ApiKey realm="herald", header="${HEADER}"`,
      read: (headers) => headers[HEADER]?.toString(),
      verify,
    },
    { read: (headers) => readBearerToken(headers, isApiKeyText), verify },
  ];
}

function isValid(row: ApiKeyCredentialRow, { prefix, secret }: PresentedApiKey): boolean {
  return row.prefix === prefix && isMatchingSecret(secret, row.secret_hash) && isActiveApiKey(row);
}
