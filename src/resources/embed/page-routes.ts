import { randomBytes } from "node:crypto";
import { ApiError, DATABASE_ERRORS, notFound } from "../../http/api-error.ts";
import { type Exchange, type Route, route } from "../../http/route.ts";
import { HTML_REPLY } from "../../http/views/view.ts";
import type { EmbedLocale, EmbedTheme, Platform } from "../../schema/enumerations.ts";
import { anyQuery } from "../../schema/types.ts";
import type { EmbedStates } from "../../security/signatures-and-states.ts";
import type { Queryable } from "../../store/database/database.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import type { EmbedSessionRow } from "../../store/embed/sessions.ts";
import { type EmbedTryRow, findSessionOfTry } from "../../store/embed/tries.ts";
import { schemeOf } from "./page/appearance.ts";
import {
  type DocumentOptions,
  languageOf,
  renderCallbackPage,
  renderEmbedPage,
  renderGonePage,
  renderUnknownPage,
} from "./page/page.ts";
import { tokenParams } from "./schema.ts";
import { findSession, goneStatusOf, PAGE_ROUTE, sessionGone } from "./session.ts";

/** The page that clients embed, and the page to which the platform's dialog leads back. A GET changes nothing. */
export function pageRoutes({ embedStates }: { embedStates: EmbedStates }): Route[] {
  return [
    route({
      ...PAGE_ROUTE,
      method: "get",
      path: "/embed/{token}",
      operationId: "showSignupPage",
      summary: "Show the signup page",
      errors: ["session_gone", ...DATABASE_ERRORS],
      params: tokenParams,
      query: anyQuery,
      reply: HTML_REPLY,
      async handle(context) {
        const session = await findSession(context.db, context);
        const options = documentOptions(context, session, session?.allowed_origins ?? ["'none'"]);
        if (!session) throw unknownLink(renderUnknownPage(options));
        const status = goneStatusOf(session);
        if (!status)
          return renderEmbedPage({ ...options, token: context.params.token, ...toPageInput(session) });
        throw sessionGone(status, { view: renderGonePage({ ...options, status }) });
      },
    }),
    route({
      ...PAGE_ROUTE,
      method: "get",
      path: "/embed/callback",
      operationId: "showSignupCallback",
      summary: "Show the page that reports the outcome of the platform's dialog",
      query: anyQuery,
      reply: HTML_REPLY,
      async handle(context) {
        const { state } = context.query as { state?: unknown };
        const embedTry = typeof state === "string" ? embedStates.read(state) : undefined;
        const session = embedTry && (await findUnlessUnavailable(context.db, embedTry));
        return renderCallbackPage(documentOptions(context, session, ["'none'"]));
      },
    }),
  ];
}

const unknownLink = (view: string) => new ApiError("not_found", notFound("link").message, { view });

const toPageInput = (session: EmbedTryRow) => ({
  sessionId: session.id,
  externalRef: session.external_ref,
  allowedOrigins: session.allowed_origins,
  platforms: session.platforms as Platform[],
  prefill: session.prefill === null ? null : JSON.parse(session.prefill),
});

/** The page sends the dialog's answer also when the database cannot be read: only its language and colours are lost. */
const findUnlessUnavailable = (db: Queryable, embedTry: { sessionId: string }) =>
  findSessionOfTry(db, embedTry).catch((error: unknown) => {
    if (error instanceof DatabaseUnavailable) return undefined;
    throw error;
  });

/** How the page looks, and its language. Sets its policy. */
function documentOptions(
  exchange: Exchange,
  session: Pick<EmbedSessionRow, "theme" | "locale" | "accent_color"> | undefined,
  frameAncestors: readonly string[],
): DocumentOptions {
  const { theme, locale, accent_color: accentColor } = session ?? DEFAULT_APPEARANCE;
  const { header } = exchange;
  return {
    nonce: setPolicy(exchange, frameAncestors),
    language: languageOf(locale as EmbedLocale, header("accept-language")),
    appearance: { scheme: schemeOf(theme as EmbedTheme, header("sec-fetch-dest")), accentColor },
  };
}

const DEFAULT_APPEARANCE = { theme: "auto", locale: "auto", accent_color: null };

/** Allows scripts and styles with the returned nonce, requests to this service, and these pages to embed it. */
function setPolicy({ setHeader }: Exchange, frameAncestors: readonly string[]): string {
  const nonce = randomBytes(18).toString("base64url");
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${frameAncestors.join(" ")}`,
  ];
  setHeader("Content-Security-Policy", policy.join("; "));
  return nonce;
}
