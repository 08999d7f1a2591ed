import type { ApiError } from "../../runtime/errors.ts";
import type { OpenExchange } from "../exchange.ts";
import { preferred } from "../request/accept.ts";
import { isMediaReply, type Route } from "../route.ts";
import { answerPage, html, PAGE } from "./view.ts";

/** Where the contract wants pages for errors too, unless JSON is asked for. */
const PLACES_OF_PAGES = /^\/(console|embed)(?=[/?]|$)/;

const TYPES = ["text/html", "application/json"] as const;

/** How errors are answered where Accept leaves it open; undefined where they are JSON whatever it says. */
export type ErrorsAs = (typeof TYPES)[number] | undefined;

/** For addresses that no route answers. */
export const errorsAt = (url: string): ErrorsAs => (PLACES_OF_PAGES.test(url) ? "text/html" : undefined);

/** Only those who would have been shown a page are shown its errors, and elsewhere only if they ask for HTML by name. */
export function errorsOfRoute({ path, reply }: Route): ErrorsAs {
  if (!isMediaReply(reply) || reply.mediaType !== PAGE.mediaType) return undefined;
  return errorsAt(path) ?? "application/json";
}

export const wantsPage = (errorsAs: ErrorsAs, accept: string | undefined): boolean =>
  errorsAs !== undefined && (preferred(accept, TYPES) ?? errorsAs) === "text/html";

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

const sentence = (message: string): string => (/[.!?…]$/.test(message) ? message : `${message}.`);

/** An error for a person to read. */
export const errorPage = (error: ApiError, exchange: OpenExchange): string =>
  answerPage(exchange, {
    title: titleOf(error.status),
    content: html`<p>${sentence(error.message)}</p>
${(error.details ?? []).slice(1).map(({ message }) => html`<p>${sentence(message)}</p>`)}
<footer data-error="${error.code}">Error ${error.status} · request <span class="whole">${exchange.requestId}</span></footer>`,
  });
