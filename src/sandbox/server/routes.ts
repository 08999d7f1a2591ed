import type { IncomingHttpHeaders } from "node:http";
import type { Log } from "../../runtime/log.ts";
import { GraphError } from "../graph/graph-error.ts";
import { graphErrorReply, Reply } from "../graph/node.ts";
import type { Params } from "../graph/params.ts";

/** A route outside the graph: a dialog, a download or a control route. */
export interface SandboxRoute {
  method: "GET" | "POST" | "DELETE";
  /** Exact, or with a trailing "/*". */
  path: string;
  answer(request: SandboxRequest): Promise<Reply> | Reply;
}

export interface SandboxRequest {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
  body: Buffer;
  params: Params;
  /** Why the body's parameters are missing from `params`. Routes that parse the body themselves ignore it. */
  bodyError?: unknown;
}

export const findRoute = (
  routes: readonly SandboxRoute[],
  method: string,
  path: string,
): SandboxRoute | undefined =>
  routes.find((route) => route.method === method && matchesPath(route.path, path));

const matchesPath = (pattern: string, path: string): boolean =>
  pattern.endsWith("/*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern;

/** A route for developers. GET /_sandbox lists its summary. */
export interface ControlRoute extends SandboxRoute {
  summary: string;
}

/** An error of a control route, worded for developers. The simulated platforms throw GraphErrors instead. */
export class ControlError extends Error {
  readonly status: number;
  readonly details: readonly unknown[];

  constructor(status: number, message: string, details: readonly unknown[] = []) {
    super(message);
    this.name = "ControlError";
    this.status = status;
    this.details = details;
  }
}

/** Converts any thrown error into a reply. */
export function errorReply(error: unknown, log: Log): Reply {
  if (error instanceof GraphError) return graphErrorReply(error);
  if (error instanceof ControlError) {
    const { message, details, status } = error;
    return new Reply({ error: { message, ...(details.length > 0 ? { details } : {}) } }, { status });
  }
  log.error("sandbox.request_failed", { err: error });
  return new Reply(new GraphError(1, "An unknown error occurred").envelope(), { status: 500 });
}
