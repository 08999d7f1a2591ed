import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { NextFunction, Request, Response } from "express";
import express from "express";
import { ApiError, CLOSE_CONNECTION, errorOf } from "./api-error.ts";
import { errorFormatAt } from "./error-reply.ts";
import { createPipeline, type Pipeline, type PipelineParts } from "./pipeline.ts";
import { createFaultLog, respond } from "./respond.ts";
import { literalFirst, type Route } from "./route.ts";

export interface App {
  listener: RequestListener;
  /** Answers a request with an unknown Expect header. */
  onUnknownExpectation: RequestListener;
  /** Resolves when every request in flight has finished, including those whose callers have disconnected. */
  waitForDrain(): Promise<void>;
}

/**
 * The HTTP application: the route table with a pipeline per route, and error replies for everything else.
 * Counts requests in flight, so that shutdown can wait for them.
 */
export function createApp(routes: readonly Route[], parts: Omit<PipelineParts, "onRequestStarted">): App {
  let inFlight = 0;
  let onDrained = () => {};
  const end = () => {
    inFlight -= 1;
    if (inFlight === 0) onDrained();
  };
  const onRequestStarted = (work: Promise<unknown>) => {
    inFlight += 1;
    work.then(end, end);
  };
  const pipelineParts = { ...parts, onRequestStarted };
  return {
    listener: createListener(routes, pipelineParts),
    onUnknownExpectation: (request, response) =>
      void replyWithError(request, response, pipelineParts, errorOf("expectation_failed")),
    waitForDrain: () =>
      new Promise((resolve) => {
        onDrained = resolve;
        if (inFlight === 0) resolve();
      }),
  };
}

function createListener(routes: readonly Route[], parts: PipelineParts): RequestListener {
  const app = express();
  app.disable("x-powered-by").disable("etag").disable("query parser");
  app.enable("case sensitive routing").enable("strict routing");
  const table = methodsByPath(routes, parts);
  for (const [path, methods] of table) {
    const pattern = path.replace(/\{(\w+)\}/g, ":$1");
    // `app.all` would add a handler for each of 34 methods.
    app.route(pattern).all((request, response) => dispatch(methods, request, response, parts));
  }
  // Express recognises an error handler by its four parameters.
  app.use((thrown: unknown, request: Request, response: Response, _next: NextFunction) =>
    replyWithError(request, response, parts, isMalformedUrl(thrown) ? malformedUrl(thrown) : thrown),
  );
  return (request, response) => {
    const hostProblem = findHostProblem(request);
    if (hostProblem)
      return void replyWithError(
        request,
        response,
        parts,
        new ApiError("validation_failed", hostProblem, CLOSE_CONNECTION),
      );
    // An exact match skips the Express router, whose search costs more under load than most handlers.
    const exactMatch = table.get(pathOf(request.url as string));
    if (exactMatch)
      return void dispatch(exactMatch, request, response, parts).catch((fault) =>
        replyWithError(request, response, parts, fault),
      );
    // Without this fallback Express would answer with its own HTML page.
    app(
      request as Request,
      response as Response,
      () => void replyWithError(request, response, parts, routeNotFound()),
    );
  };
}

/** HTTP/1.1 requires one Host header. With several, a proxy may have checked another one than this service reads. */
function findHostProblem({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  if (headers.host === undefined) return httpVersion === "1.1" ? "The Host header is missing" : undefined;
  const count = rawHeaders.filter((text, index) => index % 2 === 0 && isHostHeader(text)).length;
  return count > 1 ? "The Host header must be given only once" : undefined;
}

const isHostHeader = (name: string) => name.length === 4 && name.toLowerCase() === "host";

const routeNotFound = () => new ApiError("not_found", "There is no page or endpoint at this address");

/** The router throws a URIError for a path that it cannot decode; any other error is an internal fault. */
const isMalformedUrl = (thrown: unknown) => thrown instanceof URIError;

const malformedUrl = (cause: unknown) =>
  new ApiError("validation_failed", "The path is not valid percent-encoding", { cause });

type Methods = Map<string, Pipeline>;

function methodsByPath(routes: readonly Route[], parts: PipelineParts): Map<string, Methods> {
  const table = new Map<string, Methods>();
  for (const route of routes.toSorted(literalFirst)) {
    const methods = table.get(route.path) ?? new Map();
    const method = route.method.toUpperCase();
    if (methods.has(method)) throw new Error(`two routes for ${method} ${route.path}`);
    if (route.gate !== undefined && !parts.gates[route.gate])
      throw new Error(`${method} ${route.path} uses the unknown gate "${route.gate}"`);
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
  const message = `${method} is not allowed here; allowed: ${allowed}`;
  const error = new ApiError("method_not_allowed", message, { headers: { Allow: allowed } });
  return replyWithError(request, response, parts, error);
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

function replyWithError(
  request: IncomingMessage,
  response: ServerResponse,
  parts: PipelineParts,
  thrown: unknown,
): Promise<void> {
  const recorder = {
    ...parts,
    pattern: "(none)",
    errorFormat: errorFormatAt(request.url as string),
    isRepeatable: true,
    logLevel: "info" as const,
    faultLog: createFaultLog(parts.log),
  };
  return respond(request, response, recorder, () => Promise.reject(thrown));
}
