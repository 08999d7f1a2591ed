import { createSession, revokeSession } from "../../domain/embed/sessions.ts";
import { MAX_TRIES } from "../../domain/embed/tries.ts";
import { requestActor } from "../../domain/tenants/audit-actors.ts";
import { ApiError, invalidField, notFound } from "../../http/api-error.ts";
import { listById, listOf, listQuery, pageRequest } from "../../http/lists.ts";
import { type Operation, type Route, route } from "../../http/route.ts";
import { stringifyJson } from "../../runtime/json/json.ts";
import { findEmbedSession, listEmbedSessions } from "../../store/embed/sessions.ts";
import { contrast, MIN_CONTRAST, WHITE } from "./page/appearance.ts";
import { pageRoutes } from "./page-routes.ts";
import {
  createdEmbedSession,
  DEFAULT_TTL_MINUTES,
  embedSession,
  embedSessionFilters,
  embedSessionParams,
  type NewEmbedSessionDto,
  newEmbedSession,
  ORIGIN_MESSAGE,
  type PrefillDto,
} from "./schema.ts";
import { toCreatedSession, toSession } from "./session.ts";
import { type PageParts, signupRoutes } from "./signup-routes.ts";

/** Embedded signup: the client's endpoints, the page, and the requests that the page makes. */
export const embedRoutes = (parts: PageParts): Route[] => [
  ...sessionRoutes({ publicUrl: parts.settings.PUBLIC_URL }),
  ...pageRoutes(parts),
  ...signupRoutes(parts),
];

const SCOPE = "webhooks:manage";

/** Longer than any valid field, so that no field takes long to validate or to write. */
const MAX_FIELD_BYTES = 16 * 1_024;
/** Characters of the pre-filled data as part of a URL: platforms and proxies refuse long URLs. */
const MAX_PREFILL_URL_CHARS = 4_096;

const noSuchSession = () => notFound("embed session");

interface SessionParts {
  publicUrl: string;
}

/** The endpoints with which a client manages its signup sessions. */
function sessionRoutes({ publicUrl }: SessionParts): Route[] {
  return [
    route({
      method: "post",
      path: "/api/embed/sessions",
      operationId: "createEmbedSession",
      scope: SCOPE,
      idempotent: "idempotency_keys",
      summary: "Create an embedded signup session",
      description: `Embed \`url\` in an iframe: an end customer connects one channel there, with at most ${MAX_TRIES} tries. The URL contains the session's token and is shown only in this response. The event \`channel.connected\` and \`GET /api/embed/sessions/{sessionId}\` report the result, both with your \`external_ref\`.`,
      body: newEmbedSession,
      maxFieldBytes: MAX_FIELD_BYTES,
      status: 201,
      reply: createdEmbedSession,
      location: ({ id }) => `/api/embed/sessions/${id}`,
      async handle(context) {
        const { body, operation, db } = context;
        checkOrigins(body.allowed_origins);
        checkAccentColor(body);
        const creation = await createSession(db, requestActor(context), {
          input: toInput(body),
          operation: operation && {
            ...operation,
            seal: (created) => operation.seal(toCreatedSession(created, publicUrl)),
          },
        });
        if (creation.outcome === "created") return toCreatedSession(creation, publicUrl);
        return (operation as Operation).replay(creation.key); // only possible with an Idempotency-Key
      },
    }),
    route({
      method: "get",
      path: "/api/embed/sessions",
      operationId: "listEmbedSessions",
      scope: SCOPE,
      summary: "List embedded signup sessions, newest first",
      query: listQuery(embedSessionFilters),
      reply: listOf(embedSession),
      async handle({ db, caller, query, cursors }) {
        const page = pageRequest(query, cursors);
        const rows = await listEmbedSessions(db, caller.clientId, { page, ...query });
        return listById(rows, toSession, { page, cursors });
      },
    }),
    route({
      method: "get",
      path: "/api/embed/sessions/{sessionId}",
      operationId: "getEmbedSession",
      scope: SCOPE,
      summary: "Read an embedded signup session and its result",
      params: embedSessionParams,
      reply: embedSession,
      async handle({ db, caller, params }) {
        const row = await findEmbedSession(db, caller.clientId, params.sessionId);
        if (!row) throw noSuchSession();
        return toSession(row);
      },
    }),
    route({
      method: "post",
      path: "/api/embed/sessions/{sessionId}/revoke",
      operationId: "revokeEmbedSession",
      scope: SCOPE,
      repeatable: true,
      summary: "Revoke an embedded signup session",
      description:
        "The URL stops working at once, also for a person who is connecting a channel at the moment. Revoking a session twice changes nothing.",
      errors: ["session_not_revocable"],
      params: embedSessionParams,
      reply: embedSession,
      async handle(context) {
        const revocation = await revokeSession(context.db, requestActor(context), context.params.sessionId);
        switch (revocation.outcome) {
          case "revoked":
            return toSession(revocation.row);
          case "absent":
            throw noSuchSession();
          case "ended":
            throw new ApiError("session_not_revocable", `The session is already ${revocation.status}`);
        }
      },
    }),
  ];
}

const toInput = (body: NewEmbedSessionDto) => ({
  allowedOrigins: body.allowed_origins,
  platforms: body.platforms ?? ["chatapp" as const],
  externalRef: body.external_ref ?? null,
  prefill: body.prefill === undefined ? null : toPrefillText(body.prefill),
  theme: body.theme ?? ("auto" as const),
  locale: body.locale ?? ("auto" as const),
  accentColor: body.accent_color ?? null,
  ttlMinutes: body.ttl_minutes ?? DEFAULT_TTL_MINUTES,
});

function toPrefillText(prefill: PrefillDto): string {
  const text = stringifyJson(prefill);
  if (encodeURIComponent(text).length <= MAX_PREFILL_URL_CHARS) return text;
  throw invalidField(
    "/prefill",
    `prefill must have at most ${MAX_PREFILL_URL_CHARS} characters when URL-encoded`,
  );
}

/** Throws a 400 for a colour that is hard to read on the light page. The dark page lightens it. */
function checkAccentColor({ accent_color: color, theme }: NewEmbedSessionDto): void {
  if (color === undefined || theme === "dark") return;
  const found = contrast(color, WHITE);
  if (found >= MIN_CONTRAST) return;
  const shown = Math.floor(found * 100) / 100;
  const message = `accent_color must have a contrast of at least ${MIN_CONTRAST} to white unless theme is dark; ${color} has ${shown}`;
  throw invalidField("/accent_color", message);
}

const LOCAL_HOSTS = ["localhost", "127.0.0.1"];

/** Throws a 400 for the first text that is not an origin as browsers write it. */
function checkOrigins(origins: readonly string[]): void {
  const index = origins.findIndex((origin) => !isExactOrigin(origin));
  if (index >= 0) throw invalidField(`/allowed_origins/${index}`, ORIGIN_MESSAGE);
}

function isExactOrigin(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.origin !== text) return false;
  return url.protocol === "https:" || LOCAL_HOSTS.includes(url.hostname);
}
