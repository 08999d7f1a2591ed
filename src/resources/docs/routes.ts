import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import swaggerFolder from "swagger-ui-dist/absolute-path.js";
import { type Route, route } from "../../http/route.ts";
import { HTML_REPLY } from "../../http/views/view.ts";
import { packageRoot } from "../../runtime/package-root.ts";
import { anyQuery } from "../../schema/types.ts";
import { type Guide, llmsText, readGuides } from "./guides.ts";

/** Allows this origin only: the page cannot load, send or embed anything else. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:", // Swagger UI's stylesheet embeds its icons as data URLs
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const IMMUTABLE_CACHE_CONTROL = "public, max-age=31536000, immutable";

interface DocsParts {
  /**
   * Returns the OpenAPI document. Called on the first request, because the document describes these routes
   * too.
   */
  describe(): object;
  publicUrl: string;
}

/** The API description, as an OpenAPI document and as a page, and the guides. */
export function docsRoutes({ describe, publicUrl }: DocsParts): Route[] {
  let document: Buffer | undefined;
  const guides = readGuides();
  return [
    route({
      method: "get",
      path: "/api/openapi.json",
      operationId: "getApiDescription",
      scope: "public",
      summary: "Get this API description as an OpenAPI 3.1 document",
      description: "Generate a client from it; `webhooks` describes the events that your backend receives.",
      query: anyQuery,
      reply: { mediaType: "application/json; charset=utf-8" },
      handle() {
        document ??= Buffer.from(JSON.stringify(describe()));
        return document;
      },
    }),
    route({
      method: "get",
      path: "/api/docs",
      scope: "public",
      undocumented: true,
      summary: "Show this API description as an interactive page",
      query: anyQuery,
      reply: HTML_REPLY,
      handle({ setHeader }) {
        setHeader("Content-Security-Policy", CONTENT_SECURITY_POLICY);
        setHeader("Referrer-Policy", "no-referrer");
        return readDocsHtml();
      },
    }),
    route({
      method: "get",
      path: "/",
      scope: "public",
      undocumented: true,
      summary: "Redirect to the documentation",
      query: anyQuery,
      status: 302,
      handle({ setHeader }) {
        setHeader("Location", "/api/docs");
      },
    }),
    textRoute({
      path: "/llms.txt",
      mediaType: "text/plain; charset=utf-8",
      summary: "Describe the service for language models",
      text: llmsText({ publicUrl, guides }),
    }),
    ...guides.flatMap(guideRoutes),
    ...ASSETS.map(assetRoute),
  ];
}

interface TextFile {
  path: string;
  mediaType: string;
  summary: string;
  text: string;
}

/** Kept as bytes: a text would be encoded for each answer. */
const textRoute = ({ path, mediaType, summary, text }: TextFile): Route => {
  const bytes = Buffer.from(text);
  return route({
    method: "get",
    path,
    scope: "public",
    undocumented: true,
    summary,
    query: anyQuery,
    reply: { mediaType },
    handle: () => bytes,
  });
};

const guideRoutes = ({ path, title, text }: Guide): Route[] =>
  [path, path.replace(/\.md$/, "")].map((served) =>
    textRoute({
      path: served,
      mediaType: "text/markdown; charset=utf-8",
      summary: `Get the guide: ${title}`,
      text,
    }),
  );

const assetRoute = ({ name, mediaType, read, version }: Asset): Route =>
  route({
    method: "get",
    path: `/api/docs/${name}`,
    scope: "public",
    undocumented: true,
    summary: `Get a file of the documentation page: ${name}`,
    query: anyQuery,
    reply: { mediaType },
    async handle({ query, setHeader }) {
      // During a deployment another process may serve another version: cached under this URL it would stay
      // wrong for a year.
      if ((query as { v?: unknown }).v === (await version()))
        setHeader("Cache-Control", IMMUTABLE_CACHE_CONTROL);
      return read();
    },
  });

/** A file of the documentation page, served below the page's path. */
interface Asset {
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

const ASSETS: readonly Asset[] = [
  asset("swagger-ui-bundle.js", SCRIPT, swaggerFile),
  asset("page.css", STYLE, builtFile),
  asset("herald.svg", "image/svg+xml", ownFile),
  asset("page.js", SCRIPT, builtFile),
];

/** The HTML of the page. Each asset's URL contains its version. */
const readDocsHtml = once(async () => {
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
