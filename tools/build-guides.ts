/**
 * Builds the guides of docs/ as pages into dist/guides/: the overview, one page per document, and as assets the files
 * that documents show, the script, the style and the index of the search.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { readGuideGroups } from "../src/resources/docs/guides.ts";
import { packageRoot } from "../src/runtime/package-root.ts";
import { createFiles } from "./guides/files.ts";
import { renderMarkdown } from "./guides/markdown.ts";
import { guidePage, OVERVIEW, overviewPage, type Page, renderPage } from "./guides/page.ts";
import { addAsset, bundleAssets, hashedName, writePageFolder } from "./pages/page-folder.ts";

const SOURCES = "src/resources/docs/page";
const LOGO = "src/http/views/herald.svg";
const ASSETS_PATH = `${OVERVIEW}assets`;

const groups = readGuideGroups();
const guides = groups.flatMap((group) => group.guides);
const assets = await bundleAssets([`${SOURCES}/browser/guides.ts`, `${SOURCES}/guides.css`]);
addAsset(assets, basename(LOGO), readFileSync(LOGO));

const fileAt = createFiles({ root: packageRoot(), assets, assetsPath: ASSETS_PATH });
const isPage = (path: string) => guides.some((guide) => guide.path === path);
const pages = [
  overviewPage(groups),
  ...guides.map((guide) => guidePage(guide, renderMarkdown(guide, { isPage, fileAt }))),
];

/** The first heading of a page is its title. */
const indexEntry = ({ path, title, headings, namedRows }: Page) => ({
  path,
  title,
  places: [...headings.filter(({ level }) => level > 1), ...namedRows].map(({ id, text }) => ({ id, text })),
});
addAsset(assets, "search.json", Buffer.from(JSON.stringify(pages.slice(1).map(indexEntry))));

const assetPath = (name: string) => `${ASSETS_PATH}/${hashedName(assets, name)}`;
const fileOf = ({ path }: Page) => (path === OVERVIEW ? "index" : path.slice(OVERVIEW.length));
await writePageFolder(
  "dist/guides",
  new Map(pages.map((page) => [`${fileOf(page)}.html`, renderPage(page, { groups, assetPath })])),
  assets,
);
