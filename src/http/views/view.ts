import { randomBytes } from "node:crypto";
import { type Html, html, trustedHtml } from "../../runtime/html.ts";
import type { MediaReply } from "../reply/media-reply.ts";
import type { Exchange } from "../route.ts";
import { LOGO_SVG, STYLE } from "./style.ts";

export { type Html, html } from "../../runtime/html.ts";

/** The reply of a route that shows a view. */
export const HTML_REPLY: MediaReply = { mediaType: "text/html; charset=utf-8" };

export interface View {
  title: string;
  content: Html;
  /** A constant; its input is in the content. */
  script?: string;
}

/**
 * Renders the frame of all views and sets headers that keep it from loading, sending or embedding anything
 * else.
 */
export function renderView({ setHeader }: Pick<Exchange, "setHeader">, view: View): string {
  const nonce = randomBytes(18).toString("base64url");
  setHeader("Content-Security-Policy", policyOf(view, nonce));
  setHeader("Referrer-Policy", "no-referrer");
  return toDocument(view, nonce).text;
}

const policyOf = ({ script }: View, nonce: string): string =>
  [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    ...(script === undefined ? [] : [`script-src 'nonce-${nonce}'`]),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

const toDocument = ({ title, content, script }: View, nonce: string): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Herald</title>
<style nonce="${nonce}">${trustedHtml(STYLE)}</style>
</head>
<body>
<header>${trustedHtml(LOGO_SVG)}Herald</header>
<main>
<h1>${title}</h1>
${content}
</main>
${script === undefined ? undefined : html`<script nonce="${nonce}">${trustedHtml(script)}</script>`}
</body>
</html>
`;
