import type { ApiError } from "../api-error.ts";
import type { OpenExchange } from "../exchange.ts";
import { preferredType } from "../request/accept.ts";
import { isMediaReply, type Route } from "../route.ts";
import { HTML_REPLY, html, renderView } from "./view.ts";

/** Paths whose errors are HTML pages unless the caller prefers JSON. */
const VIEW_PATHS = /^\/(console|embed)(?=[/?]|$)/;

const ERROR_FORMATS = ["text/html", "application/json"] as const;

/** The error format when Accept has no preference; undefined means JSON regardless of Accept. */
export type ErrorFormat = (typeof ERROR_FORMATS)[number] | undefined;

/** The error format of a path without a route. */
export const errorFormatAt = (url: string): ErrorFormat => (VIEW_PATHS.test(url) ? "text/html" : undefined);

/** Only routes with an HTML reply have HTML errors; outside the view paths the caller must prefer HTML. */
export function errorFormatOf({ path, reply }: Route): ErrorFormat {
  if (!isMediaReply(reply) || reply.mediaType !== HTML_REPLY.mediaType) return undefined;
  return errorFormatAt(path) ?? "application/json";
}

export const prefersHtml = (errorFormat: ErrorFormat, accept: string | undefined): boolean =>
  errorFormat !== undefined && (preferredType(accept, ERROR_FORMATS) ?? errorFormat) === "text/html";

const TITLES: Readonly<Record<number, string>> = {
  401: "Please sign in",
  403: "You do not have access",
  404: "Page not found",
  405: "Method not allowed",
  410: "This link is no longer valid",
  413: "The request is too large",
  429: "Too many requests",
  503: "Please try again in a moment",
};

const titleOf = (status: number): string =>
  TITLES[status] ?? (status >= 500 ? "Something went wrong" : "The request failed");

const toSentence = (message: string): string => (/[.!?…]$/.test(message) ? message : `${message}.`);

/** The HTML page of an error. */
export const errorView = (error: ApiError, exchange: OpenExchange): string =>
  renderView(exchange, {
    title: titleOf(error.status),
    content: html`<p>${toSentence(error.message)}</p>
${(error.details ?? []).slice(1).map(({ message }) => html`<p>${toSentence(message)}</p>`)}
<footer data-error="${error.code}">Error ${error.status} · request <span class="whole">${exchange.requestId}</span></footer>`,
  });
