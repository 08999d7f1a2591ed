import { createHash } from "node:crypto";
import { type Html, html, trustedHtml } from "../../runtime/html.ts";
import { Reply } from "../wire/call.ts";
import { STYLE } from "./style.ts";

const styleHash = createHash("sha256").update(STYLE).digest("base64");

/** Omits `form-action`: Chromium also applies it to later redirects, which lead to the client's pages. */
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; frame-ancestors 'none'`,
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

interface ViewOptions {
  title: string;
  content: Html;
  status?: number;
}

/**
 * The layout of all dialogs. Its header names the sandbox, so that it cannot be mistaken for a real platform.
 */
export function renderView({ title, content, status = 200 }: ViewOptions): Reply {
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} (Sandbox)</title>
<style>${trustedHtml(STYLE)}</style>
</head>
<body>
<header><strong>Sandbox</strong> <span>For development only. This is not a real platform.</span></header>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
  return new Reply(Buffer.from(text), { status, headers: HEADERS });
}

/** Shows an error in place of a dialog. It never redirects, because the redirect_uri is not trusted. */
export const errorView = (message: string): Reply =>
  renderView({
    title: "This request is invalid",
    content: html`<p role="alert" data-error>${message}</p>
<p class="quiet">The app sent a request that the platform would reject.</p>`,
    status: 400,
  });

/** Redirects to the app and keeps the existing query of its URL. */
export function redirectBack(redirectUri: string, answer: Record<string, string | undefined>): Reply {
  const url = new URL(redirectUri);
  const added = new URLSearchParams(
    Object.entries(answer).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  url.search = url.search === "" ? `${added}` : `${url.search}&${added}`;
  const { "content-type": _html, ...headers } = HEADERS;
  return new Reply(Buffer.alloc(0), { status: 302, headers: { ...headers, location: url.href } });
}
