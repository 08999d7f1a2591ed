import express, { type Express, type NextFunction, type Request, type Response } from "express";
import { ApiError } from "../runtime/errors.ts";
import { createPipeline, type Pipeline, type PipelineParts, replied } from "./pipeline.ts";
import type { Route } from "./route.ts";

/** The HTTP surface: a table of routes, one pipeline for all of them, and JSON for whatever is not in the table. */
export function createApp(routes: readonly Route[], parts: PipelineParts): Express {
  const app = express();
  app.disable("x-powered-by").disable("etag").disable("query parser");
  app.enable("case sensitive routing").enable("strict routing");
  for (const [path, methods] of methodsByPath(routes, parts)) {
    const pattern = path.replace(/\{(\w+)\}/g, ":$1");
    app.all(pattern, (request, response) => dispatch(methods, request, response, parts));
  }
  app.use((request, response) =>
    refuse(request, response, parts, new ApiError("not_found", "There is nothing at this address")),
  );
  // Express knows an error handler by its four parameters. What reaches it is a path that cannot be decoded.
  app.use((cause: unknown, request: Request, response: Response, _next: NextFunction) =>
    refuse(
      request,
      response,
      parts,
      new ApiError("validation_failed", "The address is not well encoded", { cause }),
    ),
  );
  return app;
}

type Methods = Map<string, Pipeline>;

function methodsByPath(routes: readonly Route[], parts: PipelineParts): Map<string, Methods> {
  const table = new Map<string, Methods>();
  for (const route of routes) {
    const methods = table.get(route.path) ?? new Map();
    const method = route.method.toUpperCase();
    if (methods.has(method)) throw new Error(`two routes for ${method} ${route.path}`);
    if (route.gate !== undefined && !parts.gates[route.gate])
      throw new Error(`${method} ${route.path} asks for the unknown gate "${route.gate}"`);
    table.set(route.path, methods.set(method, createPipeline(route, parts)));
  }
  return table;
}

function dispatch(
  methods: Methods,
  request: Request,
  response: Response,
  parts: PipelineParts,
): Promise<void> {
  const pipeline = methods.get(request.method === "HEAD" ? "GET" : request.method);
  if (pipeline) return pipeline(request, response, { params: request.params, search: searchOf(request.url) });
  const allowed = [...methods.keys(), ...(methods.has("GET") ? ["HEAD"] : [])].join(", ");
  const message = `${request.method} is not possible here, only ${allowed}`;
  return refuse(
    request,
    response,
    parts,
    new ApiError("method_not_allowed", message, { headers: { Allow: allowed } }),
  );
}

function searchOf(url: string): string {
  const start = url.indexOf("?");
  return start === -1 ? "" : url.slice(start + 1);
}

function refuse(request: Request, response: Response, parts: PipelineParts, error: ApiError): Promise<void> {
  return replied(request, response, { ...parts, pattern: "(none)" }, () => Promise.reject(error));
}
