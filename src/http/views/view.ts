import { randomBytes } from "node:crypto";
import { type Html, html, ours } from "../../runtime/html.ts";
import type { Exchange, MediaReply } from "../route.ts";
import { MARK, STYLE } from "./style.ts";

export { type Html, html } from "../../runtime/html.ts";

/** What a route replies that shows a page. */
export const PAGE: MediaReply = { mediaType: "text/html; charset=utf-8" };

export interface Page {
  title: string;
  content: Html;
  /** A constant: what it works on stands in the content. */
  script?: string;
}

/** The one frame of all pages: answers the text and sets the headers that let it load, send and embed nothing else. */
export function answerPage({ setHeader }: Pick<Exchange, "setHeader">, page: Page): string {
  const nonce = randomBytes(18).toString("base64url");
  setHeader("Content-Security-Policy", policyOf(page, nonce));
  setHeader("Referrer-Policy", "no-referrer");
  return framed(page, nonce).text;
}

const policyOf = ({ script }: Page, nonce: string): string =>
  [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    ...(script === undefined ? [] : [`script-src 'nonce-${nonce}'`]),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

const framed = ({ title, content, script }: Page, nonce: string): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Herald</title>
<style nonce="${nonce}">${ours(STYLE)}</style>
</head>
<body>
<header>${ours(MARK)}Herald</header>
<main>
<h1>${title}</h1>
${content}
</main>
${script === undefined ? undefined : html`<script nonce="${nonce}">${ours(script)}</script>`}
</body>
</html>
`;
