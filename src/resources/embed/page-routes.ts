import { randomBytes } from "node:crypto";
import { ApiError, DATABASE_ERRORS, notFound } from "../../http/api-error.ts";
import { type Exchange, type Route, route } from "../../http/route.ts";
import { HTML_REPLY } from "../../http/views/view.ts";
import type { Platform } from "../../schema/enumerations.ts";
import { anyQuery } from "../../schema/types.ts";
import type { EmbedTryRow } from "../../store/embed/tries.ts";
import {
  languageOf,
  renderCallbackPage,
  renderEmbedPage,
  renderGonePage,
  renderUnknownPage,
} from "./page/page.ts";
import { tokenParams } from "./schema.ts";
import { findSession, GONE_MESSAGES, goneStatusOf, PAGE_ROUTE } from "./session.ts";

/** The page that clients embed, and the page to which the platform's dialog leads back. A GET changes nothing. */
export function pageRoutes(): Route[] {
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
        const { params, header, db } = context;
        const language = languageOf(header("accept-language"));
        const session = await findSession(db, context);
        const nonce = setPolicy(context, session?.allowed_origins ?? ["'none'"]);
        if (!session) throw unknownLink(renderUnknownPage({ nonce, language }));
        const status = goneStatusOf(session);
        if (!status)
          return renderEmbedPage({ nonce, language, token: params.token, ...toPageInput(session) });
        const view = renderGonePage({ nonce, language, status });
        throw new ApiError("session_gone", GONE_MESSAGES[status], { view });
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
      handle(context) {
        const language = languageOf(context.header("accept-language"));
        return renderCallbackPage({ nonce: setPolicy(context, ["'none'"]), language });
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
