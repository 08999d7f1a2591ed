import type { Guide, GuideGroup } from "../../src/resources/docs/guides.ts";
import { type Html, html, trustedHtml } from "../../src/runtime/http/html.ts";
import type { Heading, NamedRow, RenderedMarkdown } from "./markdown.ts";

/** The path of the overview, with which the paths of all pages begin. */
export const OVERVIEW = "/docs/";

/** A page. Ids of its frame have an upper-case letter, those of headings never. */
export interface Page {
  /** Its path on the service. */
  path: string;
  title: string;
  /** Plain text for search engines. */
  description: string;
  content: Html;
  headings: readonly Heading[];
  namedRows: readonly NamedRow[];
  /** The guide that the page shows; undefined for the overview. */
  guide?: Guide;
}

interface Frame {
  groups: readonly GuideGroup[];
  /** The path of an asset, by its name without hash. */
  assetPath(name: string): string;
}

export const renderPage = (page: Page, { groups, assetPath }: Frame): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${page.description}">
<title>${page.title} · Herald</title>
<link rel="icon" type="image/svg+xml" href="${assetPath("herald.svg")}">
<link rel="stylesheet" href="${assetPath("guides.css")}">
<script src="${assetPath("guides.js")}" defer></script>
</head>
<body>
<a class="skip" href="#mainContent">Skip to the content</a>
<header class="masthead">
<a class="brand" href="${OVERVIEW}">
<img src="${assetPath("herald.svg")}" alt="" width="28" height="28"><span>Herald</span> <small>Guides</small>
</a>
<nav aria-label="Other pages">
<a href="/api/docs">API reference</a>
<a href="/console">Console</a>
<a href="/llms.txt">llms.txt</a>
${page.guide && html`<a href="${page.guide.path}">Markdown</a>`}
</nav>
</header>
<div class="columns">
<nav class="side" aria-label="Guides">
<details id="sideMenu" open>
<summary>Menu and search</summary>
<search>
<form data-index="${assetPath("search.json")}">
<label for="searchField">Search headings and names</label>
<input id="searchField" class="field" type="search" autocomplete="off" spellcheck="false" aria-keyshortcuts="/" placeholder="Press / to search">
<p id="searchStatus" class="note" role="status"></p>
</form>
</search>
<div>
<ul id="searchResults" hidden></ul>
<ul id="allDocuments">
<li>${menuLink({ page: OVERVIEW, title: "Overview" }, page)}</li>
${groups.map((group) => menuGroup(group, page))}
</ul>
</div>
</details>
</nav>
<main id="mainContent">
<article>
${page.content}
</article>
${page.guide && pager(page.guide, groups)}
</main>
</div>
<p id="copyStatus" role="status"></p>
</body>
</html>
`.text;

const menuGroup = ({ title, guides }: GuideGroup, page: Page): Html =>
  html`<li><span>${title}</span>
<ul>
${guides.map((guide) => html`<li>${menuLink(guide, page)}</li>\n`)}</ul>
</li>
`;

const menuLink = ({ page: path, title }: Pick<Guide, "page" | "title">, page: Page): Html =>
  path === page.path
    ? html`<a href="${path}" aria-current="page">${title}</a>${sectionLinks(page)}`
    : html`<a href="${path}">${title}</a>`;

function sectionLinks({ headings }: Page): Html | undefined {
  const sections = headings.filter(({ level }) => level === 2);
  if (sections.length === 0) return undefined;
  return html`
<ul>
${sections.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>\n`)}</ul>`;
}

function pager(guide: Guide, groups: readonly GuideGroup[]): Html {
  const guides = groups.flatMap((group) => group.guides);
  const at = guides.indexOf(guide);
  const [previous, next] = [guides[at - 1], guides[at + 1]];
  return html`<nav class="pager" aria-label="Previous and next guide">
${previous && html`<a rel="prev" href="${previous.page}"><small>Previous</small> ${previous.title}</a>`}
${next && html`<a rel="next" href="${next.page}"><small>Next</small> ${next.title}</a>`}
</nav>`;
}

/** The page of all guides. Markdown in a summary is inline code only. */
export function overviewPage(groups: readonly GuideGroup[]): Page {
  return {
    path: OVERVIEW,
    title: "Guides",
    description: "All guides for integrators and operators of Herald",
    headings: [],
    namedRows: [],
    content: html`<h1>Guides</h1>
<p>What each guide is for. The <a href="/api/docs">API reference</a> has every endpoint and event type.</p>
${groups.map(groupSummary)}`,
  };
}

function groupSummary({ title, guides }: GuideGroup): Html {
  const id = title.toLowerCase();
  return html`<h2 id="${id}"><a href="#${id}">${title}</a></h2>
<ul class="summaries">
${guides.map(({ page, title, summary }) => html`<li><a href="${page}">${title}</a> ${inlineCode(summary)}.</li>\n`)}</ul>
`;
}

const inlineCode = (text: string): Html[] =>
  text.split("`").map((part, at) => (at % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));

/** The page of a guide, whose Markdown is rendered. */
export const guidePage = (guide: Guide, { html: content, ...rendered }: RenderedMarkdown): Page => ({
  path: guide.page,
  title: guide.title,
  description: guide.summary.replaceAll("`", ""),
  content: trustedHtml(content),
  ...rendered,
  guide,
});
