import { isClientId, isPrefixedId } from "../../runtime/ids.ts";
import type { Log } from "../../runtime/logging/log.ts";
import { ROLE_SCOPES, ROLES, type Role } from "../../schema/enumerations.ts";
import { findStorableProblem } from "../../schema/storable.ts";
import { isApiKeyText } from "../../security/api-keys.ts";
import type { ConsoleCookie } from "../../security/console-cookie.ts";
import { TokenKeysUnavailable, type TokenSubject, type UserTokens } from "../../security/user-tokens.ts";
import type { Queryable } from "../../store/database/database.ts";
import { touchSession } from "../../store/tenants/sessions.ts";
import type { UserCredentialRow } from "../../store/tenants/users.ts";
import { ApiError } from "../api-error.ts";
import { type Caller, type CredentialScheme, readBearerToken } from "../caller.ts";
import type { CredentialCaches } from "./caches.ts";
import { createUseRecorder } from "./use-recorder.ts";

type Subject<S extends TokenSubject["source"]> = Extract<TokenSubject, { source: S }>;

interface UserTokenParts {
  db: Queryable;
  caches: CredentialCaches;
  tokens: UserTokens;
  cookie: ConsoleCookie;
  log: Log;
}

/** Authenticates a user by the token in the Authorization header or in the console's cookie. */
export function userTokenSchemes({ db, caches, tokens, cookie, log }: UserTokenParts): CredentialScheme[] {
  const recordUse = createUseRecorder(
    (id) => touchSession(db, id),
    (session, err) => log.warn("session.last_used_update_failed", { session, err }),
  );

  async function isOpenSession({ sessionId, userId }: Subject<"own">): Promise<boolean> {
    if (sessionId === undefined) return true;
    const session = isPrefixedId(sessionId, "ses") ? await caches.sessions.find(sessionId) : undefined;
    if (session?.user_id !== userId) return false;
    recordUse(session);
    return true;
  }

  async function fromRow(subject: Subject<"own">): Promise<Caller | undefined> {
    const { userId, sessionId = null } = subject;
    const row = isPrefixedId(userId, "usr") ? await caches.users.find(userId) : undefined;
    if (!row || !isValid(row, subject) || !(await isOpenSession(subject))) return undefined;
    return toCaller({ ...row, sessionId }, row.client_name);
  }

  async function fromClaims({ claims }: Subject<"provider">): Promise<Caller | undefined> {
    const { sub = "", client_id, role, name, email } = claims;
    if (!isClientId(client_id) || !isRole(role) || findStorableProblem({ sub, name, email }, ""))
      return undefined;
    const client = await caches.clients.find(client_id);
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
      read: (headers) => readBearerToken(headers, (token) => !isApiKeyText(token)),
      verify,
    },
    {
      // Browsers attach the cookie to every request, even one with an API key. Only the header, which other
      // sites cannot set, makes it a credential.
      read: (headers) => (headers["x-herald-console"] === "1" ? cookie.read(headers.cookie) : undefined),
      verify,
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

interface TokenUser extends Pick<UserCredentialRow, "id" | "client_id" | "name" | "role"> {
  email: string | null;
  sessionId?: string | null;
}

const toCaller = ({ id, name, email, sessionId, ...user }: TokenUser, clientName: string): Caller => ({
  clientId: user.client_id,
  clientName,
  credential: { type: "user", id, name, email, ...(sessionId === undefined ? {} : { sessionId }) },
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
