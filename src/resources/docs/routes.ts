import { type Route, route } from "../../http/route.ts";
import { builtPageRoutes } from "../../http/views/built-pages.ts";
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
    ...builtPageRoutes({
      name: "docs",
      summary: "Show this API description as an interactive page",
      paths: ["/api/docs"],
      assetsPath: "/api/docs/assets",
      headers: { "Content-Security-Policy": CONTENT_SECURITY_POLICY, "Referrer-Policy": "no-referrer" },
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
