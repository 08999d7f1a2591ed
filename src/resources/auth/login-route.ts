import { type Route, route } from "../../http/route.ts";
import { SECOND } from "../../runtime/durations.ts";
import { ApiError } from "../../runtime/errors.ts";
import type { Role } from "../../schema/enumerations.ts";
import type { Static } from "../../schema/types.ts";
import { type ConsoleCookie, isForeignSite } from "../../security/console-cookie.ts";
import type { Passwords } from "../../security/passwords.ts";
import type { TryLimit } from "../../security/try-limit.ts";
import { LOGIN_LASTS, type UserTokens } from "../../security/user-tokens.ts";
import type { Queryable } from "../../store/database/database.ts";
import { findUserByEmail, noteLogin, type UserCredentialRow } from "../../store/tenants/users.ts";
import { loginRequest, session } from "./schema.ts";

export interface LoginParts {
  db: Queryable;
  passwords: Passwords;
  tryLimit: TryLimit;
  cookie: ConsoleCookie;
  issue: NonNullable<UserTokens["issue"]>;
}

type Knock = Static<typeof loginRequest>;

interface Entry {
  user: UserCredentialRow;
  at: Date;
}

/** The same work, and the same answer, whether or not the user exists. */
export function loginRoute({ db, passwords, tryLimit, cookie, issue }: LoginParts): Route {
  async function knock({ email, password }: Knock, address: string): Promise<Entry | undefined> {
    const user = await findUserByEmail(db, email);
    const isRight = await passwords.matches(password, user?.password_hash, address);
    const at = isRight && user ? await noteLogin(db, user) : undefined;
    return user && at && { user, at };
  }

  return route({
    method: "post",
    path: "/api/auth/login",
    scope: "public",
    summary: "Sign in with email and password",
    description:
      "Answers a user token for 12 hours (to try it here, paste it into Authorize) and sets the console's cookie. After 10 failures in a minute from one address for one email: 429.",
    errors: ["unauthorized", "rate_limited", "overloaded", "temporarily_unavailable"],
    body: loginRequest,
    reply: session,
    async handle({ body, address, header, setHeader }) {
      const who = [address, body.email.toLowerCase()];
      const entry = await tryLimit(who, () => knock(body, address));
      if (!entry) throw new ApiError("unauthorized", "The email or the password is wrong");
      const { user, at: issuedAt } = entry;
      const token = await issue({ id: user.id, clientId: user.client_id }, { issuedAt });
      // A form on somebody else's page could sign a visitor in to the wrong account.
      if (!isForeignSite(header("sec-fetch-site"))) setHeader("Set-Cookie", cookie.keep(token, LOGIN_LASTS));
      return { token, expires_in: LOGIN_LASTS / SECOND, user: toSessionUser(user) };
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
