import { endOwnSession } from "../../domain/tenants/sessions.ts";
import { DATABASE_ERRORS } from "../../http/api-error.ts";
import { type Route, route } from "../../http/route.ts";
import { isPrefixedId } from "../../runtime/ids.ts";
import { type ConsoleCookie, isForeignSite } from "../../security/console-cookie.ts";
import { TokenKeysUnavailable, type UserTokens } from "../../security/user-tokens.ts";
import type { Database } from "../../store/database/database.ts";
import { findUserCredential } from "../../store/tenants/users.ts";

export interface LogoutParts {
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
export function logoutRoute({ tokens, cookie, forgetCredential }: LogoutParts): Route {
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
