/**
 * Builds the pages for browsers into dist/. The route of the signup page inlines its files; the API reference and the
 * console are folders with index.html and assets.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { addAsset, bundleAssets, FOR_BROWSERS, hashedName, writePageFolder } from "./pages/page-folder.ts";

const SIGNUP_PAGE = "src/resources/embed/page/browser";
const API_REFERENCE = "src/resources/docs/page";
const CONSOLE = "src/console";
const LOGO = "src/http/views/herald.svg";

interface Page {
  folder: string;
  html: string;
  entryPoints: string[];
  copies: readonly string[];
  options?: BuildOptions;
}

const PAGES: readonly Page[] = [
  {
    folder: "dist/docs",
    html: `${API_REFERENCE}/index.html`,
    entryPoints: [`${API_REFERENCE}/browser/page.ts`, `${API_REFERENCE}/page.css`],
    copies: [LOGO, "node_modules/swagger-ui-dist/swagger-ui-bundle.js"],
  },
  {
    folder: "dist/console",
    html: `${CONSOLE}/index.html`,
    entryPoints: [`${CONSOLE}/main.tsx`, `${CONSOLE}/main.css`],
    copies: [LOGO],
    options: {
      target: ["chrome111", "edge111", "firefox115", "safari16.4"],
      format: "esm",
      splitting: true,
      jsx: "automatic",
      jsxImportSource: "preact",
      legalComments: "none",
    },
  },
];

async function buildPage({ folder, html, entryPoints, copies, options }: Page): Promise<void> {
  const assets = await bundleAssets(entryPoints, options);
  for (const file of copies) addAsset(assets, basename(file), readFileSync(file));
  const index = readFileSync(html, "utf8").replaceAll(/(?<=["/]assets\/)[^"]+(?=")/g, (name) =>
    hashedName(assets, name),
  );
  await writePageFolder(folder, new Map([["index.html", index]]), assets);
}

await build({
  ...FOR_BROWSERS,
  target: [...FOR_BROWSERS.target],
  entryPoints: ["signup.ts", "callback.ts", "page.css"].map((name) => `${SIGNUP_PAGE}/${name}`),
  outdir: "dist/embed",
});
await Promise.all(PAGES.map(buildPage));
