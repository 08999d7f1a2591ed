import { type Route, route } from "../../http/route.ts";
import { SCOPES } from "../../schema/enumerations.ts";
import { type LoginParts, loginRoute } from "./login-route.ts";
import { type LogoutParts, logoutRoute } from "./logout-route.ts";
import { me } from "./schema.ts";
import { sessionRoutes } from "./session-routes.ts";

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
    ...sessionRoutes(parts),
  ];
}
