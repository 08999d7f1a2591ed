import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Html, html, trustedHtml } from "../../../runtime/http/html.ts";
import { packageRoot } from "../../../runtime/package-root.ts";
import type { EmbedLocale, Platform } from "../../../schema/enumerations.ts";
import { type Appearance, applyAppearance, SCHEMES } from "./appearance.ts";
import type { CallbackData, PageData, Passage, PrefilledField, Texts } from "./page-data.ts";
import { EN } from "./texts/en.ts";
import { ES } from "./texts/es.ts";
import { PT } from "./texts/pt.ts";

export interface DocumentOptions {
  nonce: string;
  language: Language;
  appearance: Appearance;
}

interface EmbedPageOptions extends DocumentOptions {
  token: string;
  sessionId: string;
  externalRef: string | null;
  allowedOrigins: readonly string[];
  platforms: readonly Platform[];
  prefill: unknown;
}

/** The signup page. Its script shows each step and calls the routes below `/embed/{token}`. */
export function renderEmbedPage(session: EmbedPageOptions): string {
  const { page, prefill } = TEXTS[session.language];
  const data: PageData = {
    token: session.token,
    session_id: session.sessionId,
    external_ref: session.externalRef,
    allowed_origins: session.allowedOrigins,
    platforms: session.platforms,
    prefilled: prefilledFields(session.prefill, prefill),
    texts: page,
  };
  const content = renderPassage({ heading: page.start.heading, body: page.loading });
  const script = { text: readBuiltFile("signup.js"), data };
  return renderDocument(session, { content, script });
}

/** The page of a session that can no longer be used. */
export function renderGonePage({
  status,
  ...options
}: DocumentOptions & { status: "completed" | "expired" | "revoked" }): string {
  const { completed, page } = TEXTS[options.language];
  const { expired, revoked } = page;
  const content = renderPassage({ completed, expired, revoked }[status]);
  return renderDocument(options, { content, errorCode: "session_gone" });
}

/** The page of a token that no session has. */
export const renderUnknownPage = (options: DocumentOptions): string =>
  renderDocument(options, {
    content: renderPassage(TEXTS[options.language].unknown),
    errorCode: "not_found",
  });

/** The page that the platform's dialog returns to. Its script posts the answer in the address and closes the window. */
export function renderCallbackPage(options: DocumentOptions): string {
  const data: CallbackData = { texts: TEXTS[options.language].callback };
  const content = renderPassage(data.texts.sending);
  return renderDocument(options, { content, script: { text: readBuiltFile("callback.js"), data } });
}

type Language = Exclude<EmbedLocale, "auto">;

export const TEXTS: Readonly<Record<Language, Texts>> = { en: EN, pt: PT, es: ES };

const LANGUAGES = Object.keys(TEXTS) as Language[];
const DEFAULT_LANGUAGE: Language = "en";

/**
 * Returns the language of the locale; for `auto`, the offered one with the highest weight in an Accept-Language header,
 * without regard to regions.
 */
export function languageOf(locale: EmbedLocale, acceptLanguage: string | undefined): Language {
  if (locale !== "auto") return locale;
  let best: { language: Language; weight: number } | undefined;
  for (const range of (acceptLanguage ?? "").split(",")) {
    const [tag = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const language = LANGUAGES.find((candidate) => candidate === tag.split("-")[0]);
    const weight = weightOf(parameters);
    if (language && weight > (best?.weight ?? 0)) best = { language, weight };
  }
  return best?.language ?? DEFAULT_LANGUAGE;
}

/** Returns 1 without `q`, and 0 for a `q` that is not a number. */
function weightOf(parameters: readonly string[]): number {
  const quality = parameters.find((parameter) => parameter.startsWith("q="));
  return quality === undefined ? 1 : Number(quality.slice(2)) || 0;
}

/** Keeps the page below its size limit. */
const MAX_SHOWN_CHARACTERS = 200;

/** The prefilled values that the page shows, by their place in `prefill`. */
const SHOWN_FIELDS = [
  ["business", "name"],
  ["business", "email"],
  ["business", "website"],
  ["phone", "displayName"],
  ["phone", "category"],
] as const;

/** Picks the values that a person understands. Other parts of `prefill` go to the platform only. */
export const prefilledFields = (prefill: unknown, labels: Texts["prefill"]): PrefilledField[] =>
  SHOWN_FIELDS.flatMap(([group, name]) => {
    const value = valueAt(valueAt(prefill, group), name);
    if (typeof value !== "string" || value.trim() === "") return [];
    return [{ label: labels[name], value: value.slice(0, MAX_SHOWN_CHARACTERS) }];
  });

const valueAt = (parent: unknown, name: string): unknown =>
  typeof parent === "object" && parent !== null && Object.hasOwn(parent, name)
    ? (parent as Record<string, unknown>)[name]
    : undefined;

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

/** The frame of all signup pages: style, script and an empty icon are inline, so that a page is one request. */
function renderDocument(
  { nonce, language, appearance }: DocumentOptions,
  { content, script, errorCode }: DocumentParts,
): string {
  const style = applyAppearance(readBuiltFile("page.css"), appearance);
  return html`<!doctype html>
<html lang="${language}" data-scheme="${appearance.scheme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${SCHEMES[appearance.scheme].colorScheme}">
<meta name="robots" content="noindex">
<title>${TEXTS[language].title}</title>
<link rel="icon" href="data:,">
<style nonce="${nonce}">${trustedHtml(style)}</style>
</head>
<body>
<main id="page"${errorCode && html` data-error="${errorCode}"`}>${content}</main>
${script && renderScript(script, { nonce, language })}</body>
</html>
`.text;
}

const renderScript = (
  { text, data }: DocumentScript,
  { nonce, language }: Omit<DocumentOptions, "appearance">,
): Html =>
  html`<noscript><p class="notice">${TEXTS[language].noScript}</p></noscript>
<script type="application/json" id="data">${toJsonMarkup(data)}</script>
<script nonce="${nonce}">${trustedHtml(text)}</script>
`;

/** Escapes `<`, which could end the script element. */
const toJsonMarkup = (data: object): Html => trustedHtml(JSON.stringify(data).replaceAll("<", "\\u003c"));

const renderPassage = ({ heading, body }: Passage): Html => html`<h1>${heading}</h1><p>${body}</p>`;

type BuiltFile = "signup.js" | "callback.js" | "page.css";

const builtFiles = new Map<BuiltFile, string>();

/** Returns a file that tools/build.js built from browser/. It is read at the first call and kept. */
function readBuiltFile(name: BuiltFile): string {
  const text = builtFiles.get(name) ?? readFromDist(name);
  builtFiles.set(name, text);
  return text;
}

function readFromDist(name: BuiltFile): string {
  const file = join(packageRoot(), "dist/embed", name);
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`the signup page is not built: npm run build creates ${file}`, { cause: error });
  }
}
