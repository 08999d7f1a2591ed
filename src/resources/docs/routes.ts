import { type Route, route } from "../../http/route.ts";
import { HTML_REPLY } from "../../http/views/view.ts";
import { anyQuery } from "../../schema/types.ts";
import { ASSETS, type Asset, readDocsHtml } from "./assets.ts";

/** Everything comes from here: nothing on the page can load, send or embed anything elsewhere. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:", // the stylesheet of Swagger UI carries its icons in itself
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const IMMUTABLE_CACHE_CONTROL = "public, max-age=31536000, immutable";

interface DocsParts {
  /** Answers the OpenAPI document. Called at the first request: the document describes these routes too. */
  describe(): object;
}

/** The interface's own description, for machines and for people. */
export function docsRoutes({ describe }: DocsParts): Route[] {
  let text: string | undefined;
  return [
    route({
      method: "get",
      path: "/api/openapi.json",
      scope: "public",
      summary: "This description, as an OpenAPI 3.1 document",
      query: anyQuery,
      reply: { mediaType: "application/json; charset=utf-8" },
      handle() {
        text ??= JSON.stringify(describe());
        return text;
      },
    }),
    route({
      method: "get",
      path: "/api/docs",
      scope: "public",
      undocumented: true,
      summary: "This description, as a page to read and to try",
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
      summary: "Leads whoever opens the bare address to the documentation",
      query: anyQuery,
      status: 302,
      handle({ setHeader }) {
        setHeader("Location", "/api/docs");
      },
    }),
    ...ASSETS.map(assetRoute),
  ];
}

const assetRoute = ({ name, mediaType, read, version }: Asset): Route =>
  route({
    method: "get",
    path: `/api/docs/${name}`,
    scope: "public",
    undocumented: true,
    summary: `A file of the documentation: ${name}`,
    query: anyQuery,
    reply: { mediaType },
    async handle({ query, setHeader }) {
      // Another version is a neighbour's, newer or older: kept under that address it would be wrong for a year.
      if ((query as { v?: unknown }).v === (await version()))
        setHeader("Cache-Control", IMMUTABLE_CACHE_CONTROL);
      return read();
    },
  });
