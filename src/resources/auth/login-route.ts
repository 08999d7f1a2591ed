import { recordRefusedSignIn, type SignInRequest, signIn } from "../../domain/tenants/sessions.ts";
import { type VerifyParts, verifyPassword } from "../../domain/tenants/verify-password.ts";
import { ApiError, DATABASE_ERRORS, overloaded, tooManyAttempts } from "../../http/api-error.ts";
import { type Route, route } from "../../http/route.ts";
import { pause } from "../../runtime/async/pause.ts";
import { SECOND } from "../../runtime/durations.ts";
import type { Log } from "../../runtime/logging/log.ts";
import type { Role } from "../../schema/enumerations.ts";
import { type ConsoleCookie, isForeignSite } from "../../security/console-cookie.ts";
import { LOGIN_TTL_MS, type UserTokens } from "../../security/user-tokens.ts";
import type { Database } from "../../store/database/database.ts";
import type { UserCredentialRow } from "../../store/tenants/users.ts";
import { loginRequest, session } from "./schema.ts";

export interface LoginParts extends Omit<VerifyParts, "db"> {
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
        throw attempt.outcome === "limited" ? tooManyAttempts(attempt) : overloaded();
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
