import { requestActor } from "../../domain/tenants/audit-actors.ts";
import {
  endOwnSession,
  recordRefusedSignIn,
  type SignInRequest,
  signIn,
} from "../../domain/tenants/sessions.ts";
import { type VerifyParts, verifyPassword } from "../../domain/tenants/verify-password.ts";
import { ApiError, DATABASE_ERRORS, notFound, overloaded, tooManySignIns } from "../../http/api-error.ts";
import { listById, listOf, listQuery, pageRequest } from "../../http/lists.ts";
import { type Route, route } from "../../http/route.ts";
import { pause } from "../../runtime/async/timeouts-and-retries.ts";
import { SECOND } from "../../runtime/durations.ts";
import { isPrefixedId } from "../../runtime/ids.ts";
import type { Log } from "../../runtime/log.ts";
import { type Role, SCOPES } from "../../schema/enumerations.ts";
import { toTimestamp } from "../../schema/times.ts";
import { type ConsoleCookie, isForeignSite } from "../../security/console-cookie.ts";
import { LOGIN_TTL_MS, TokenKeysUnavailable, type UserTokens } from "../../security/user-tokens.ts";
import type { Database } from "../../store/database/database.ts";
import { listSessions, type SessionRow } from "../../store/tenants/sessions.ts";
import { findUserCredential, type UserCredentialRow } from "../../store/tenants/users.ts";
import { loginRequest, me, session, sessionParams, type UserSessionDto, userSession } from "./schema.ts";

type AuthParts = Omit<LoginParts, "issue"> & LogoutParts;

export function authRoutes(parts: AuthParts): Route[] {
  // Absent when only an identity provider issues tokens; there is no login then.
  const { issue } = parts.tokens;
  return [
    ...(issue ? [loginRoute({ ...parts, issue })] : []),
    logoutRoute(parts),
    route({
      method: "get",
      path: "/api/auth/me",
      operationId: "getCaller",
      scope: "any_credential",
      summary: "Read the caller's client, role and scopes",
      reply: me,
      handle: ({ caller: { clientId, clientName, credential, role, scopes } }) => ({
        client_id: clientId,
        client_name: clientName,
        credential: { type: credential.type, id: credential.id, name: credential.name },
        role,
        scopes: SCOPES.filter((scope) => scopes.has(scope)),
      }),
    }),
    ...sessionRoutes(parts),
  ];
}

interface LoginParts extends Omit<VerifyParts, "db"> {
  cookie: ConsoleCookie;
  issue: NonNullable<UserTokens["issue"]>;
  log: Log;
}

/** Delays 429 and 503: callers that repeat at once would take the processor from the checks of the others. */
const UNCHECKED_DELAY_MS = 1 * SECOND;

const wrongCredentials = () => new ApiError("unauthorized", "The email or the password is wrong");

/**
 * Does the same work and gives the same answer whether or not the user exists, so that emails cannot be
 * probed.
 */
export function loginRoute({ issue, cookie, log, ...parts }: LoginParts): Route {
  /** Not awaited: the time of the write would reveal that the user exists. */
  function recordRefusal(db: Database, user: UserCredentialRow, request: SignInRequest): void {
    recordRefusedSignIn(db, user, request).catch((err: unknown) =>
      log.error("session.refusal_record_failed", { user: user.id, err }),
    );
  }

  return route({
    method: "post",
    path: "/api/auth/login",
    operationId: "loginUser",
    scope: "public",
    summary: "Sign in with email and password",
    description:
      "Starts a session and returns its user token, which is valid for 12 hours, and sets the console's cookie. To use the token on this page, paste it into Authorize. After too many failed attempts the response is 429: 10 in a minute from one IP address (IPv6: one /64) for one email, 100 in a minute from one IP address, or 100 in an hour for one email. An address from which the email has signed in within the last 30 days is exempt from the last two limits.",
    errors: ["unauthorized", ...DATABASE_ERRORS],
    repeatable: true,
    body: loginRequest,
    reply: session,
    async handle({ db, body, address, requestId, header, callerGone, setHeader }) {
      const request = { address, requestId, userAgent: header("user-agent") };
      const signal = callerGone();
      const attempt = await verifyPassword(
        { ...parts, db },
        {
          ...body,
          address,
          signal,
          accept: (user) => signIn(db, user, { request, ttlMs: LOGIN_TTL_MS }),
        },
      );
      if (attempt.outcome === "refused") {
        if (attempt.user) recordRefusal(db, attempt.user, request);
        throw wrongCredentials();
      }
      if (attempt.outcome !== "accepted") {
        await pause(UNCHECKED_DELAY_MS, signal);
        throw attempt.outcome === "limited" ? tooManySignIns(attempt) : overloaded();
      }
      const { user, result } = attempt;
      const owner = { id: user.id, clientId: user.client_id };
      const token = await issue(owner, { sessionId: result.id, issuedAt: result.created_at });
      // Without this check a form on another site could sign a visitor in to the wrong account.
      if (!isForeignSite(header("sec-fetch-site"))) setHeader("Set-Cookie", cookie.set(token, LOGIN_TTL_MS));
      return { token, expires_in: LOGIN_TTL_MS / SECOND, user: toSessionUser(user) };
    },
  });
}

const toSessionUser = ({ id, name, email, role, client_id }: UserCredentialRow) => ({
  id,
  name,
  email,
  role: role as Role,
  client_id,
});

interface LogoutParts {
  tokens: UserTokens;
  cookie: ConsoleCookie;
  /** Makes this process notice an ended session at once. */
  forgetCredential(id: string): void;
}

interface LogoutRequest {
  db: Database;
  address: string;
  requestId: string;
}

/** Succeeds without a valid token too: the caller is signed out either way. */
function logoutRoute({ tokens, cookie, forgetCredential }: LogoutParts): Route {
  async function endSessionOf(token: string, { db, address, requestId }: LogoutRequest): Promise<void> {
    const subject = await tokens.verify(token).catch(ignoreKeysUnavailable);
    if (subject?.source !== "own" || !isPrefixedId(subject.sessionId ?? "", "ses")) return;
    const user = isPrefixedId(subject.userId, "usr")
      ? await findUserCredential(db, subject.userId)
      : undefined;
    if (!user) return;
    const sessionId = subject.sessionId as string;
    const credential = { type: "user" as const, id: user.id, name: user.name };
    await endOwnSession(db, { clientId: user.client_id, credential, address, requestId }, sessionId);
    forgetCredential(sessionId);
  }

  return route({
    method: "post",
    path: "/api/auth/logout",
    operationId: "logoutUser",
    scope: "public",
    summary: "Sign out",
    description:
      "Ends the session of the user token in the Authorization header or in the console's cookie, and clears the cookie. The token is rejected from then on: at once by the process that answers, within 5 seconds by every other.",
    errors: [...DATABASE_ERRORS],
    repeatable: true,
    async handle({ db, address, requestId, header, setHeader }) {
      const isForeign = isForeignSite(header("sec-fetch-site"));
      if (!isForeign) setHeader("Set-Cookie", cookie.clear());
      const presented = [
        bearerToken(header("authorization")),
        isForeign ? "" : cookie.read(header("cookie")),
      ];
      for (const token of presented) if (token) await endSessionOf(token, { db, address, requestId });
    },
  });
}

const bearerToken = (authorization = ""): string =>
  /^bearer /i.test(authorization) ? authorization.slice("bearer ".length).trim() : "";

/** A token of an identity provider has no session to end. */
function ignoreKeysUnavailable(error: unknown): undefined {
  if (error instanceof TokenKeysUnavailable) return undefined;
  throw error;
}

const USERS_ONLY = { scope: "any_credential", consoleOnly: true } as const;

/** The sessions of the calling user, and of no other user, whatever the role. */
function sessionRoutes({ forgetCredential }: Pick<LogoutParts, "forgetCredential">): Route[] {
  return [
    route({
      method: "get",
      path: "/api/auth/sessions",
      operationId: "listUserSessions",
      ...USERS_ONLY,
      summary: "List your own sessions",
      description:
        "Lists the sessions that have neither ended nor expired. Users of an identity provider have none here and get 404.",
      errors: ["not_found"],
      query: listQuery({}),
      reply: listOf(userSession),
      async handle({ db, caller, query, cursors }) {
        const current = requireOwnUser(caller);
        const page = pageRequest(query, cursors);
        const rows = await listSessions(db, caller.clientId, { userId: caller.credential.id, page });
        return listById(rows, (row) => toUserSession(row, current), { page, cursors });
      },
    }),
    route({
      method: "delete",
      path: "/api/auth/sessions/{id}",
      operationId: "deleteUserSession",
      ...USERS_ONLY,
      summary: "End one of your own sessions",
      description:
        "The session's token is rejected from then on: at once by the process that answers, within 5 seconds by every other.",
      params: sessionParams,
      async handle(context) {
        requireOwnUser(context.caller);
        const { id } = context.params;
        if (!(await endOwnSession(context.db, requestActor(context), id))) throw notFound("session");
        forgetCredential(id);
      },
    }),
  ];
}

/** Returns the caller's session; null when the token names none. */
function requireOwnUser({ credential }: { credential: { sessionId?: string | null } }): string | null {
  if (credential.sessionId !== undefined) return credential.sessionId;
  throw new ApiError("not_found", "Users of an identity provider have no sessions here");
}

const toUserSession = (row: SessionRow, current: string | null): UserSessionDto => ({
  id: row.id,
  created_at: toTimestamp(row.created_at),
  last_used_at: toTimestamp(row.last_used_at),
  expires_at: toTimestamp(row.expires_at),
  address: row.address,
  user_agent: row.user_agent,
  current: row.id === current,
});
