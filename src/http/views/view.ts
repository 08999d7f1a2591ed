import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Html, html, trustedHtml } from "../../runtime/http/html.ts";
import { packageRoot } from "../../runtime/package-root.ts";
import type { MediaReply } from "../reply.ts";
import type { Exchange } from "../route.ts";

export { type Html, html } from "../../runtime/http/html.ts";

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
<style nonce="${nonce}">${trustedHtml(readTokens() + STYLE)}</style>
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

let tokens: string | undefined;

/** The custom properties that all pages share, read at the first view. Built code has a copy in dist/. */
function readTokens(): string {
  const folder = import.meta.url.endsWith(".ts") ? "src/http/views" : "dist/views";
  tokens ??= readFileSync(join(packageRoot(), folder, "tokens.css"), "utf8");
  return tokens;
}

/** For phones and desktops, in light and dark mode. */
const STYLE = `
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; padding: 0 16px 32px; background: var(--ground); color: var(--ink);
  font: var(--size-text)/1.6 var(--text);
}
header, main { width: 100%; max-width: 680px; margin: 0 auto; }
header { display: flex; align-items: center; gap: 10px; padding: 20px 4px; color: var(--brand); font-weight: 650; }
main { padding: 28px 32px; background: var(--paper); border: 1px solid var(--line); border-radius: var(--radius); overflow-wrap: anywhere; }
h1 { margin: 0 0 12px; font-size: 24px; line-height: 1.25; letter-spacing: -.01em; text-wrap: balance; }
h2 { margin: 28px 0 6px; font-size: var(--size-text); line-height: 1.4; }
p, pre, dl, blockquote { margin: 0 0 12px; }
main > :last-child { margin-bottom: 0; }
a { color: var(--accent); }
code, pre { font: 13.5px/1.6 var(--code); }
code { padding: 1px 5px; background: var(--well); border: 1px solid var(--line); border-radius: 5px; }
pre { padding: 14px 16px; background: var(--well); border: 1px solid var(--line); border-radius: var(--radius); white-space: pre-wrap; }
blockquote { padding: 2px 0 2px 14px; border-left: 3px solid var(--line); }
dl { display: grid; grid-template-columns: auto 1fr; gap: 4px 20px; }
dt { color: var(--soft); }
dd { margin: 0; }
footer, .quiet { color: var(--soft); font-size: var(--size-small); }
footer { margin-top: 24px; padding-top: 16px; border-top: 1px solid var(--line); }
.whole { user-select: all; -webkit-user-select: all; }
.actions:not([hidden]) { display: flex; flex-wrap: wrap; align-items: center; gap: 14px; min-height: 44px; }
button {
  min-height: 44px; padding: 8px 18px; border: 0; border-radius: var(--radius); background: var(--accent); color: var(--on-accent);
  font: inherit; font-weight: 600; cursor: pointer;
}
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 560px) {
  main { padding: 22px 18px; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 8px; }
}
@media (min-height: 700px) and (min-width: 561px) { body { padding-top: 6vh; } }
`;

/** Inline, because the content security policy allows no images. */
const LOGO_SVG = `<svg width="28" height="28" viewBox="0 0 32 32" aria-hidden="true">
<rect width="32" height="32" rx="8" fill="#1f3a5f"/>
<path d="M8 18.5v-5h4.5L21 8.5v15l-8.5-5z" fill="#fff"/>
<path d="M11.5 20.5l1.5 4.5" stroke="#fff" stroke-width="2.5" stroke-linecap="round"/>
<path d="M24 12.5a5 5 0 0 1 0 7" fill="none" stroke="#f2b84b" stroke-width="2.2" stroke-linecap="round"/>
</svg>`;
