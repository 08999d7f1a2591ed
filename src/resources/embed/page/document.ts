import { type Html, html, trustedHtml } from "../../../runtime/html.ts";
import { readBuiltFile } from "./built-files.ts";
import { type Language, TEXTS } from "./language.ts";
import type { Passage } from "./texts/shape.ts";

export interface DocumentOptions {
  nonce: string;
  language: Language;
}

/** A script and the data that it reads from the element `#data`. */
interface DocumentScript {
  text: string;
  data: object;
}

interface DocumentParts {
  content: Html;
  script?: DocumentScript;
  /** The error that the page explains, for programs. */
  errorCode?: "session_gone" | "not_found";
}

/** The frame of all signup pages: style and script are inline, so that a page is one request. */
export function renderDocument(
  { nonce, language }: DocumentOptions,
  { content, script, errorCode }: DocumentParts,
): string {
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${TEXTS[language].title}</title>
<style nonce="${nonce}">${trustedHtml(readBuiltFile("page.css"))}</style>
</head>
<body>
<main id="page"${errorCode && html` data-error="${errorCode}"`}>${content}</main>
${script && renderScript(script, { nonce, language })}</body>
</html>
`.text;
}

const renderScript = ({ text, data }: DocumentScript, { nonce, language }: DocumentOptions): Html =>
  html`<noscript><p class="notice">${TEXTS[language].noScript}</p></noscript>
<script type="application/json" id="data">${toJsonMarkup(data)}</script>
<script nonce="${nonce}">${trustedHtml(text)}</script>
`;

/** Escapes `<`, which could end the script element. */
const toJsonMarkup = (data: object): Html => trustedHtml(JSON.stringify(data).replaceAll("<", "\\u003c"));

export const renderPassage = ({ heading, body }: Passage): Html => html`<h1>${heading}</h1><p>${body}</p>`;
