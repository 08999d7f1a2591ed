import { type Route, route } from "../../http/route.ts";
import { builtPageRoutes } from "../../http/views/built-pages.ts";
import { anyQuery } from "../../schema/types.ts";
import { type Guide, llmsText, readGuideGroups } from "./guides.ts";

/** Allows this origin only: a page cannot load, send or embed anything else. */
const pageHeaders = (imageSources: string) => ({
  "Content-Security-Policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src ${imageSources}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "Referrer-Policy": "no-referrer",
});

/** The group that is left out of /llms.txt, which describes the API in at most 5,000 characters. */
const OPERATORS = "Operate";

interface DocsParts {
  /**
   * Returns the OpenAPI document. Called on the first request, because the document describes these routes
   * too.
   */
  describe(): object;
  publicUrl: string;
}

/** The API description, as an OpenAPI document and as a page, and the guides, as pages and as Markdown. */
export function docsRoutes({ describe, publicUrl }: DocsParts): Route[] {
  let document: Buffer | undefined;
  const groups = readGuideGroups();
  const guides = groups.flatMap((group) => group.guides);
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
    ...builtPageRoutes({
      name: "docs",
      summary: "Show this API description as an interactive page",
      pages: { "/api/docs": "index.html" },
      assetsPath: "/api/docs/assets",
      headers: pageHeaders("'self' data:"), // Swagger UI's stylesheet embeds its icons as data URLs
    }),
    ...builtPageRoutes({
      name: "guides",
      summary: "Show a guide",
      pages: {
        "/docs/": "index.html",
        "/docs": "index.html",
        ...Object.fromEntries(guides.map(({ page }) => [page, `${page.slice("/docs/".length)}.html`])),
      },
      assetsPath: "/docs/assets",
      headers: pageHeaders("'self'"),
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
      text: llmsText({ publicUrl, groups: groups.filter(({ title }) => title !== OPERATORS) }),
    }),
    ...guides.map(rawGuideRoute),
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

const rawGuideRoute = ({ path, title, text }: Guide): Route =>
  textRoute({
    path,
    mediaType: "text/markdown; charset=utf-8",
    summary: `Get the guide as Markdown: ${title}`,
    text,
  });
