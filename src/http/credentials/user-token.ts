import { isClientId, isPrefixedId } from "../../runtime/ids.ts";
import type { Log } from "../../runtime/logging/log.ts";
import { ROLE_SCOPES, ROLES, type Role } from "../../schema/enumerations.ts";
import { findStorableProblem } from "../../schema/storable.ts";
import { readConsoleCookie } from "../../security/console-cookie.ts";
import { TokenKeysUnavailable, type TokenSubject, type UserTokens } from "../../security/user-tokens.ts";
import type { Queryable } from "../../store/database/database.ts";
import { findClient } from "../../store/tenants/clients.ts";
import { findUserCredential, type UserCredentialRow } from "../../store/tenants/users.ts";
import { ApiError } from "../api-error.ts";
import type { Caller, CredentialScheme } from "../caller.ts";
import { cachedLookup } from "./lookup.ts";

type Subject<S extends TokenSubject["source"]> = Extract<TokenSubject, { source: S }>;

interface UserTokenParts {
  db: Queryable;
  tokens: UserTokens;
  log: Log;
}

/** Authenticates a user by the token in the Authorization header or in the console's cookie. */
export function userTokenSchemes({ db, tokens, log }: UserTokenParts): CredentialScheme[] {
  const findUser = cachedLookup((id) => findUserCredential(db, id));
  const findTenant = cachedLookup((id) => findClient(db, id));

  async function fromRow(subject: Subject<"own">): Promise<Caller | undefined> {
    const row = isPrefixedId(subject.userId, "usr") ? await findUser(subject.userId) : undefined;
    return row && isValid(row, subject) ? toCaller(row, row.client_name) : undefined;
  }

  async function fromClaims({ claims }: Subject<"provider">): Promise<Caller | undefined> {
    const { sub = "", client_id, role, name, email } = claims;
    if (!isClientId(client_id) || !isRole(role) || findStorableProblem({ sub, name, email }, ""))
      return undefined;
    const client = await findTenant(client_id);
    const displayName = [name, email, sub].find(isNonEmptyText) ?? sub;
    const user = { id: sub, name: displayName, email: isNonEmptyText(email) ? email : null, role };
    return client && toCaller({ ...user, client_id: client.id }, client.name);
  }

  async function verify(token: string): Promise<Caller | undefined> {
    const subject = await tokens.verify(token).catch(rethrowKeysUnavailable(log));
    if (!subject) return undefined;
    return subject.source === "own" ? fromRow(subject) : fromClaims(subject);
  }

  return [
    {
      challenge: 'Bearer realm="herald"',
      isPresent: (headers) => /^bearer /i.test(headers.authorization ?? ""),
      verify(headers) {
        const token = (headers.authorization as string).slice("bearer ".length).trim();
        if (!token.startsWith("svc_")) return verify(token);
        throw new ApiError(
          "unauthorized",
          "Send an API key in the header x-svc-api-key, not as a Bearer token",
        );
      },
    },
    {
      // Browsers attach the cookie to every request, even one with an API key. Only the header, which other
      // sites cannot set, makes it a credential.
      isPresent: (headers) =>
        headers["x-herald-console"] === "1" && readConsoleCookie(headers.cookie) !== undefined,
      verify: (headers) => verify(readConsoleCookie(headers.cookie) as string),
    },
  ];
}

const isNonEmptyText = (claim: unknown): claim is string => typeof claim === "string" && claim !== "";

const isRole = (value: unknown): value is Role => ROLES.includes(value as Role);

function isValid(row: UserCredentialRow, { clientId, issuedAt }: Subject<"own">): boolean {
  if (!row.enabled || (clientId !== undefined && clientId !== row.client_id)) return false;
  if (row.tokens_valid_from === null) return true;
  return issuedAt !== undefined && issuedAt > row.tokens_valid_from;
}

const toCaller = (
  user: Pick<UserCredentialRow, "id" | "client_id" | "name" | "role"> & { email: string | null },
  clientName: string,
) => ({
  clientId: user.client_id,
  clientName,
  credential: { type: "user" as const, id: user.id, name: user.name, email: user.email },
  role: user.role as Role,
  scopes: ROLE_SCOPES[user.role as Role],
});

const rethrowKeysUnavailable =
  (log: Log) =>
  (error: unknown): never => {
    if (!(error instanceof TokenKeysUnavailable)) throw error;
    log.warn("user_token.keys_unavailable", { err: error });
    const message = "The identity provider's keys cannot be fetched, please try again";
    throw new ApiError("temporarily_unavailable", message, { cause: error });
  };
