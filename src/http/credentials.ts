import type { IncomingHttpHeaders } from "node:http";
import { LRUCache } from "lru-cache";
import { MINUTE, SECOND } from "../runtime/durations.ts";
import { isClientId, isPrefixedId } from "../runtime/ids.ts";
import type { Log } from "../runtime/log.ts";
import { ROLE_SCOPES, ROLES, type Role, type Scope } from "../schema/enumerations.ts";
import { findStorableProblem } from "../schema/storable.ts";
import {
  isApiKeyText,
  isMatchingSecret,
  isTestKey,
  type PresentedApiKey,
  parseApiKey,
} from "../security/api-keys.ts";
import type { ConsoleCookie } from "../security/console-cookie.ts";
import { TokenKeysUnavailable, type TokenSubject, type UserTokens } from "../security/user-tokens.ts";
import type { Queryable } from "../store/database/database.ts";
import {
  type ApiKeyCredentialRow,
  findApiKeyCredential,
  isActiveApiKey,
  touchApiKey,
} from "../store/tenants/api-keys.ts";
import { findClient } from "../store/tenants/clients.ts";
import { findSession, touchSession } from "../store/tenants/sessions.ts";
import { findUserCredential, type UserCredentialRow } from "../store/tenants/users.ts";
import { ApiError, errorOf } from "./api-error.ts";

/** The authenticated caller: a user (user token or console cookie) or an API key, which has no role. */
export interface Caller {
  clientId: string;
  clientName: string;
  credential: {
    type: "api_key" | "user";
    id: string;
    name: string;
    /** Set for users; null when the identity provider's token has no email. */
    email?: string | null;
    /** Set for users of Herald's own; null when the token names no session. Absent for an identity provider's users. */
    sessionId?: string | null;
    /** Set for API keys: true for a `svc_test_` key. */
    isTestKey?: boolean;
  };
  role: Role | null;
  scopes: ReadonlySet<Scope>;
}

/** A place of a request that can carry a credential. */
export interface CredentialScheme {
  /** The scheme's entry in the WWW-Authenticate header of a 401; not every scheme has one. */
  challenge?: string;
  read(headers: IncomingHttpHeaders): string | undefined;
  /** Returns undefined for an unknown, expired or revoked credential. */
  verify(credential: string): Promise<Caller | undefined>;
}

/** Requires exactly one credential, which may be sent in several places, and verifies it. */
export async function authenticate(
  schemes: readonly CredentialScheme[],
  headers: IncomingHttpHeaders,
): Promise<Caller> {
  const presented = new Map<string, CredentialScheme>();
  for (const scheme of schemes) {
    const credential = scheme.read(headers);
    if (credential !== undefined) presented.set(credential, scheme);
  }
  const [first, ...others] = presented;
  if (others.length > 0) throw errorOf("ambiguous_credentials");
  const caller = first && (await first[1].verify(first[0]));
  if (caller) return caller;
  const message = first
    ? "The credential is unknown, expired or revoked"
    : "A credential is required: send an API key or a user token";
  const challenge = schemes.flatMap((candidate) => candidate.challenge ?? []).join(", ");
  throw new ApiError("unauthorized", message, { headers: { "WWW-Authenticate": challenge } });
}

/** Returns the token of the Authorization header, if it is of the kind that is asked for. */
function readBearerToken(
  { authorization = "" }: IncomingHttpHeaders,
  isOfKind: (token: string) => boolean,
): string | undefined {
  const token = /^bearer /i.test(authorization) ? authorization.slice("bearer ".length).trim() : "";
  return token !== "" && isOfKind(token) ? token : undefined;
}

const API_KEY_HEADER = "x-svc-api-key";

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
    if (!key || !isValidApiKey(key.row, presented)) return undefined;
    recordUse(key.row);
    return key.caller;
  }

  return [
    {
      challenge: `ApiKey realm="herald", header="${API_KEY_HEADER}"`,
      read: (headers) => headers[API_KEY_HEADER]?.toString(),
      verify,
    },
    { read: (headers) => readBearerToken(headers, isApiKeyText), verify },
  ];
}

function isValidApiKey(row: ApiKeyCredentialRow, { prefix, secret }: PresentedApiKey): boolean {
  return row.prefix === prefix && isMatchingSecret(secret, row.secret_hash) && isActiveApiKey(row);
}

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
    if (!row || !isValidUser(row, subject) || !(await isOpenSession(subject))) return undefined;
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

function isValidUser(row: UserCredentialRow, { clientId, issuedAt }: Subject<"own">): boolean {
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

interface UsedRow {
  id: string;
  last_used_at: Date | null;
}

/** Records the use of a credential; called with its cached row for each request. */
type UseRecorder = (row: UsedRow) => void;

/**
 * Writes last_used_at at most once a minute, and once per cached row. Not awaited: the request does not depend on it, and
 * a failure only leaves last_used_at out of date.
 */
function createUseRecorder(
  touch: (id: string) => Promise<void>,
  onFailure: (id: string, error: unknown) => void,
): UseRecorder {
  const recorded = new WeakSet<UsedRow>();
  return (row) => {
    if (recorded.has(row)) return;
    recorded.add(row);
    if (row.last_used_at !== null && Date.now() - row.last_used_at.getTime() < MINUTE) return;
    touch(row.id).catch((error: unknown) => onFailure(row.id, error));
  };
}

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
  credential: { type: "api_key", id: row.id, name: row.name, isTestKey: isTestKey(row) },
  role: null,
  scopes: new Set(row.scopes as Scope[]),
});

/**
 * Every process must notice a revoked key, disabled user or changed role within 5 s, including the query
 * time.
 */
const CREDENTIAL_TTL_MS = 4 * SECOND;
const MAX_CREDENTIALS = 20_000;

/** Loads a credential through a short-lived cache. Concurrent requests for one credential share a query. */
interface Lookup<V> {
  find(id: string): Promise<V | undefined>;
  /** Drops the cached value, and the result of a query in progress: both may be older than the change. */
  forget(id: string): void;
}

export function cachedLookup<V>(load: Lookup<V>["find"], ttlMs = CREDENTIAL_TTL_MS): Lookup<V> {
  const cache = new LRUCache<string, { value: V | undefined }>({
    // maxSize with size 1 per entry, because `max` would allocate memory for all entries up front.
    maxSize: MAX_CREDENTIALS,
    sizeCalculation: () => 1,
    ttl: ttlMs,
    ttlResolution: 0,
    // A query that `forget` interrupts still answers the requests that wait for it; it is only not cached.
    ignoreFetchAbort: true,
    async fetchMethod(id, _stale, { options }) {
      const loadStartedAt = performance.now();
      const value = await load(id);
      // The value's age counts from the start of the query, not from its end.
      options.ttl = Math.max(1, ttlMs - (performance.now() - loadStartedAt));
      return { value };
    },
  });
  return {
    find: async (id) => (cache.get(id) ?? (await cache.fetch(id)))?.value,
    forget: (id) => void cache.delete(id),
  };
}
