import type { DependencyContainer } from "tsyringe";
import type { CredentialScheme } from "../../http/caller.ts";
import { apiKeyScheme } from "../../http/credentials/api-key.ts";
import { userTokenSchemes } from "../../http/credentials/user-token.ts";
import { DATABASE, LOG, resolve, USER_TOKENS } from "../tokens.ts";

export function credentialSchemes(container: DependencyContainer): CredentialScheme[] {
  const [db, log] = [resolve(container, DATABASE), resolve(container, LOG)];
  return [...userTokenSchemes({ db, tokens: resolve(container, USER_TOKENS), log }), apiKeyScheme(db, log)];
}
