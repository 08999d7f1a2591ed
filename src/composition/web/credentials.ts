import type { DependencyContainer } from "tsyringe";
import type { CredentialScheme } from "../../http/caller.ts";
import { apiKeySchemes } from "../../http/credentials/api-key.ts";
import { userTokenSchemes } from "../../http/credentials/user-token.ts";
import { ANONYMOUS_KEY } from "../../store/database/connections.ts";
import { CONSOLE_COOKIE, CREDENTIAL_CACHES, DATABASE, LOG, resolve, USER_TOKENS } from "../tokens.ts";

export function credentialSchemes(container: DependencyContainer): CredentialScheme[] {
  const db = resolve(container, DATABASE).forKey(ANONYMOUS_KEY);
  const log = resolve(container, LOG);
  const caches = resolve(container, CREDENTIAL_CACHES);
  const [tokens, cookie] = [resolve(container, USER_TOKENS), resolve(container, CONSOLE_COOKIE)];
  return [...userTokenSchemes({ db, caches, tokens, cookie, log }), ...apiKeySchemes({ db, caches, log })];
}
