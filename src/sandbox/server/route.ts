import type { IncomingHttpHeaders } from "node:http";
import type { Reply } from "../wire/call.ts";
import type { Params } from "../wire/params.ts";

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
