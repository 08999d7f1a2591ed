import { type Route, route } from "../../http/route.ts";
import { SCOPES } from "../../schema/enumerations.ts";
import { isForeignSite } from "../../security/console-cookie.ts";
import { type LoginParts, loginRoute } from "./login-route.ts";
import { me } from "./schema.ts";

interface AuthParts extends Omit<LoginParts, "issue"> {
  /** Absent when only an identity provider issues tokens; there is no login route then. */
  issue?: LoginParts["issue"] | undefined;
}

export function authRoutes({ issue, ...parts }: AuthParts): Route[] {
  return [
    ...(issue ? [loginRoute({ ...parts, issue })] : []),
    route({
      method: "post",
      path: "/api/auth/logout",
      scope: "public",
      summary: "Sign out of the console in this browser",
      description: "Clears the console's cookie. The token itself stays valid until it expires.",
      handle({ header, setHeader }) {
        if (!isForeignSite(header("sec-fetch-site"))) setHeader("Set-Cookie", parts.cookie.clear());
      },
    }),
    route({
      method: "get",
      path: "/api/auth/me",
      scope: "any credential",
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
  ];
}
