import { requestActor } from "../../domain/tenants/request-actor.ts";
import { endOwnSession } from "../../domain/tenants/sessions.ts";
import { ApiError, notFound } from "../../http/api-error.ts";
import { listById, listOf, listQuery, pageRequest } from "../../http/lists.ts";
import { type Route, route } from "../../http/route.ts";
import { toTimestamp } from "../../schema/timestamps.ts";
import { listSessions, type SessionRow } from "../../store/tenants/sessions.ts";
import { sessionParams, type UserSessionDto, userSession } from "./schema.ts";

export interface SessionParts {
  /** Makes this process notice an ended session at once. */
  forgetCredential(id: string): void;
}

const USERS_ONLY = { scope: "any credential", consoleOnly: true } as const;

/** The sessions of the calling user, and of no other user, whatever the role. */
export function sessionRoutes({ forgetCredential }: SessionParts): Route[] {
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
