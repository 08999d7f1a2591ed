import { ApiError, overloaded, tooManyAttempts } from "../../http/api-error.ts";
import { type Route, route } from "../../http/route.ts";
import { SECOND } from "../../runtime/durations.ts";
import type { Role } from "../../schema/enumerations.ts";
import type { Static } from "../../schema/types.ts";
import type { AttemptLimiter } from "../../security/attempt-limiter.ts";
import { type ConsoleCookie, isForeignSite } from "../../security/console-cookie.ts";
import type { Passwords } from "../../security/passwords.ts";
import { LOGIN_TTL_MS, type UserTokens } from "../../security/user-tokens.ts";
import type { Queryable } from "../../store/database/database.ts";
import { findUserByEmail, recordLogin, type UserCredentialRow } from "../../store/tenants/users.ts";
import { loginRequest, session } from "./schema.ts";

export interface LoginParts {
  db: Queryable;
  passwords: Passwords;
  limitAttempts: AttemptLimiter;
  cookie: ConsoleCookie;
  issue: NonNullable<UserTokens["issue"]>;
}

type LoginRequest = Static<typeof loginRequest>;

interface Login {
  user: UserCredentialRow;
  at: Date;
}

/**
 * Does the same work and gives the same answer whether or not the user exists, so that emails cannot be
 * probed.
 */
export function loginRoute({ db, passwords, limitAttempts, cookie, issue }: LoginParts): Route {
  async function attemptLogin(
    { email, password }: LoginRequest,
    address: string,
  ): Promise<Login | "overloaded" | undefined> {
    const user = await findUserByEmail(db, email);
    const { outcome } = await passwords.check(password, user?.password_hash, address);
    if (outcome === "overloaded") return outcome;
    const at = outcome === "matches" && user ? await recordLogin(db, user) : undefined;
    return user && at && { user, at };
  }

  return route({
    method: "post",
    path: "/api/auth/login",
    scope: "public",
    summary: "Sign in with email and password",
    description:
      "Returns a user token that is valid for 12 hours, and sets the console's cookie. To use the token on this page, paste it into Authorize. After 10 failed attempts in a minute from one IP address for one email the response is 429.",
    errors: ["unauthorized", "rate_limited", "overloaded", "temporarily_unavailable"],
    body: loginRequest,
    reply: session,
    async handle({ body, address, header, setHeader }) {
      const limitKey = [address, body.email.toLowerCase()];
      const attempt = await limitAttempts(limitKey, () => attemptLogin(body, address));
      if (attempt.outcome === "limited") throw tooManyAttempts(attempt);
      if (attempt.result === undefined)
        throw new ApiError("unauthorized", "The email or the password is wrong");
      if (attempt.result === "overloaded") throw overloaded();
      const { user, at: issuedAt } = attempt.result;
      const token = await issue({ id: user.id, clientId: user.client_id }, { issuedAt });
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
