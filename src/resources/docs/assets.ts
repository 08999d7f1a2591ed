import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import swaggerFolder from "swagger-ui-dist/absolute-path.js";
import { packageRoot } from "../../runtime/package-root.ts";

/** A file of the documentation page, served below the page's path. */
export interface Asset {
  name: string;
  mediaType: string;
  read(): Promise<Buffer>;
  /** A digest of the content: a URL that contains it can be cached indefinitely. */
  version(): Promise<string>;
}

const SCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";

/** Our own files are read from src, which is also present when the built code runs. */
const ownFile = (name: string) => join(packageRoot(), "src/resources/docs/page", name);

/** Built by esbuild.js from page/. */
const builtFile = (name: string) => join(packageRoot(), "dist/docs", name);

const swaggerFile = (name: string) => join(swaggerFolder(), name);

function asset(name: string, mediaType: string, locate: (name: string) => string): Asset {
  const read = once(() => readFile(locate(name)));
  return { name, mediaType, read, version: once(async () => digest(await read())) };
}

export const ASSETS: readonly Asset[] = [
  asset("swagger-ui-bundle.js", SCRIPT, swaggerFile),
  asset("page.css", STYLE, builtFile),
  asset("herald.svg", "image/svg+xml", ownFile),
  asset("page.js", SCRIPT, builtFile),
];

/** The HTML of the page. Each asset's URL contains its version. */
export const readDocsHtml = once(async () => {
  let html = await readFile(ownFile("index.html"), "utf8");
  for (const { name, version } of ASSETS)
    html = html.replaceAll(`"docs/${name}"`, `"docs/${name}?v=${await version()}"`);
  return Buffer.from(html);
});

const digest = (content: Buffer) => createHash("sha256").update(content).digest("hex").slice(0, 12);

/** Caches the result of the first successful call; a failure is not cached. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let cached: Promise<T> | undefined;
  return () => {
    cached ??= make().catch((error: unknown) => {
      cached = undefined;
      throw error;
    });
    return cached;
  };
}
