import { createHash } from "node:crypto";
import { type Html, html, trustedHtml } from "../../runtime/html.ts";
import { Reply } from "../wire/call.ts";
import { STYLE } from "./style.ts";

const styleHash = createHash("sha256").update(STYLE).digest("base64");

/**
 * There is no `form-action` on purpose: Chromium applies it to where the answer of a form redirects too, and on to
 * wherever that redirects, which is the client's business. Nothing else falls back to `default-src` for forms.
 */
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

/** The one layout of all dialogs. It says that it is the sandbox, so that nobody takes it for the platform. */
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
<header><strong>Sandbox</strong> <span>For development only. This is no real platform.</span></header>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
  return new Reply(Buffer.from(text), { status, headers: HEADERS });
}

/** What the platform shows instead of a dialog, and never as a redirect: the address to go back to is not to be trusted. */
export const errorView = (message: string): Reply =>
  renderView({
    title: "This request cannot be shown",
    content: html`<p role="alert" data-error>${message}</p>
<p class="quiet">The app that sent you here asked in a way that the platform would refuse.</p>`,
    status: 400,
  });

/** Back to the app; the query that its address already has stays. */
export function redirectBack(redirectUri: string, answer: Record<string, string | undefined>): Reply {
  const url = new URL(redirectUri);
  const added = new URLSearchParams(
    Object.entries(answer).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  url.search = url.search === "" ? `${added}` : `${url.search}&${added}`;
  const { "content-type": _html, ...headers } = HEADERS;
  return new Reply(Buffer.alloc(0), { status: 302, headers: { ...headers, location: url.href } });
}
