import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import express, { type NextFunction, type Request, type Response } from "express";
import { ApiError } from "../runtime/errors.ts";
import { createPipeline, type Pipeline, type PipelineParts, replied } from "./pipeline.ts";
import { literalFirst, type Route } from "./route.ts";
import { errorsAt } from "./views/error-view.ts";

export interface App {
  listener: RequestListener;
  /** When every request that was begun is done with, also those whose callers have gone. */
  idle(): Promise<void>;
}

/** The HTTP surface: a table of routes, one pipeline for all of them, and errors for whatever is not in the table. */
export function createApp(routes: readonly Route[], given: Omit<PipelineParts, "onWork">): App {
  let running = 0;
  let onIdle = () => {};
  const end = () => {
    running -= 1;
    if (running === 0) onIdle();
  };
  const onWork = (work: Promise<unknown>) => {
    running += 1;
    work.then(end, end);
  };
  return {
    listener: listenerOf(routes, { ...given, onWork }),
    idle: () =>
      new Promise((resolve) => {
        onIdle = resolve;
        if (running === 0) resolve();
      }),
  };
}

function listenerOf(routes: readonly Route[], parts: PipelineParts): RequestListener {
  const app = express();
  app.disable("x-powered-by").disable("etag").disable("query parser");
  app.enable("case sensitive routing").enable("strict routing");
  const table = methodsByPath(routes, parts);
  for (const [path, methods] of table) {
    const pattern = path.replace(/\{(\w+)\}/g, ":$1");
    app.all(pattern, (request, response) => dispatch(methods, request, response, parts));
  }
  // Express knows an error handler by its four parameters.
  app.use((thrown: unknown, request: Request, response: Response, _next: NextFunction) =>
    refuse(request, response, parts, isBadAddress(thrown) ? badAddress(thrown) : thrown),
  );
  return (request, response) => {
    if (request.httpVersion === "1.1" && request.headers.host === undefined)
      return void refuse(
        request,
        response,
        parts,
        new ApiError("validation_failed", "The Host header is missing"),
      );
    // A path that stands in the table as it is needs no search, which under load costs more than most handlers.
    const known = table.get(pathOf(request.url as string));
    if (known)
      return void dispatch(known, request, response, parts).catch((fault) =>
        refuse(request, response, parts, fault),
      );
    // Its own last resort is a page of HTML.
    app(request as Request, response as Response, () => void refuse(request, response, parts, nothingHere()));
  };
}

const nothingHere = () => new ApiError("not_found", "There is nothing at this address");

/** A path that cannot be decoded is the router's to notice; all else that arrives as an error is a fault of ours. */
const isBadAddress = (thrown: unknown) => thrown instanceof URIError;

const badAddress = (cause: unknown) =>
  new ApiError("validation_failed", "The address is not well encoded", { cause });

type Methods = Map<string, Pipeline>;

function methodsByPath(routes: readonly Route[], parts: PipelineParts): Map<string, Methods> {
  const table = new Map<string, Methods>();
  for (const route of routes.toSorted(literalFirst)) {
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
  request: IncomingMessage & { params?: Record<string, unknown> },
  response: ServerResponse,
  parts: PipelineParts,
): Promise<void> {
  const { method = "", url = "", params = NO_PARAMS } = request;
  const pipeline = methods.get(method === "HEAD" ? "GET" : method);
  if (pipeline) return pipeline(request, response, { params, search: searchOf(url) });
  const allowed = [...methods.keys(), ...(methods.has("GET") ? ["HEAD"] : [])].join(", ");
  const message = `${method} is not possible here, only ${allowed}`;
  const error = new ApiError("method_not_allowed", message, { headers: { Allow: allowed } });
  return refuse(request, response, parts, error);
}

const NO_PARAMS = {};

function pathOf(url: string): string {
  const end = url.indexOf("?");
  return end === -1 ? url : url.slice(0, end);
}

function searchOf(url: string): string {
  const start = url.indexOf("?");
  return start === -1 ? "" : url.slice(start + 1);
}

function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  parts: PipelineParts,
  thrown: unknown,
): Promise<void> {
  const recorder = { ...parts, pattern: "(none)", errorsAs: errorsAt(request.url as string) };
  return replied(request, response, recorder, () => Promise.reject(thrown));
}
