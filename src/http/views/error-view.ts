import type { ApiError } from "../api-error.ts";
import type { OpenExchange } from "../exchange.ts";
import { preferredType } from "../request/accept.ts";
import { isMediaReply, type Route } from "../route.ts";
import { HTML_REPLY, html, renderView } from "./view.ts";

/** Where the contract wants pages for errors too, unless JSON is asked for. */
const VIEW_PATHS = /^\/(console|embed)(?=[/?]|$)/;

const ERROR_FORMATS = ["text/html", "application/json"] as const;

/** How errors are answered where Accept leaves it open; undefined where they are JSON whatever it says. */
export type ErrorFormat = (typeof ERROR_FORMATS)[number] | undefined;

/** For addresses that no route answers. */
export const errorFormatAt = (url: string): ErrorFormat => (VIEW_PATHS.test(url) ? "text/html" : undefined);

/** Only those who would have been shown a page are shown its errors, and elsewhere only if they ask for HTML by name. */
export function errorFormatOf({ path, reply }: Route): ErrorFormat {
  if (!isMediaReply(reply) || reply.mediaType !== HTML_REPLY.mediaType) return undefined;
  return errorFormatAt(path) ?? "application/json";
}

export const prefersHtml = (errorFormat: ErrorFormat, accept: string | undefined): boolean =>
  errorFormat !== undefined && (preferredType(accept, ERROR_FORMATS) ?? errorFormat) === "text/html";

const TITLES: Readonly<Record<number, string>> = {
  401: "Please sign in",
  403: "This is not open to you",
  404: "There is nothing here",
  405: "This is not possible here",
  410: "This is over",
  413: "This is too large",
  429: "That was too often",
  503: "Please try again in a moment",
};

const titleOf = (status: number): string =>
  TITLES[status] ?? (status >= 500 ? "Something went wrong" : "This did not work");

const toSentence = (message: string): string => (/[.!?…]$/.test(message) ? message : `${message}.`);

/** An error for a person to read. */
export const errorView = (error: ApiError, exchange: OpenExchange): string =>
  renderView(exchange, {
    title: titleOf(error.status),
    content: html`<p>${toSentence(error.message)}</p>
${(error.details ?? []).slice(1).map(({ message }) => html`<p>${toSentence(message)}</p>`)}
<footer data-error="${error.code}">Error ${error.status} · request <span class="whole">${exchange.requestId}</span></footer>`,
  });
