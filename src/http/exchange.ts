import type { IncomingMessage, ServerResponse } from "node:http";
import { newId } from "../runtime/ids.ts";
import { API_VERSION } from "../schema/version.ts";
import type { BodyOwner } from "./request/body.ts";
import type { Exchange } from "./route.ts";

export interface OpenExchange extends Exchange {
  /** Set after authentication; for the log. */
  clientId: string | undefined;
  /** Ids of the work, for the log. */
  logIds: Record<string, string> | undefined;
  /** In whose memory the answer counts while it waits to be sent; set after authentication. */
  memory: BodyOwner | undefined;
  /** Response headers, written in one call: setting each on the response is slower. */
  headers: Record<string, string | number>;
}

export interface ExchangeOptions {
  trustedProxies: number;
  /** True when callers reach this service by https. */
  isHttps: boolean;
}

/** Browsers use https for this service for a year. */
const STRICT_TRANSPORT_SECURITY = "max-age=31536000";

/** The headers that every response carries. */
export function commonHeaders(requestId: string, isHttps: boolean): Record<string, string | number> {
  const headers: Record<string, string> = {
    "X-Request-Id": requestId,
    "X-Api-Version": API_VERSION,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
  };
  if (isHttps) headers["Strict-Transport-Security"] = STRICT_TRANSPORT_SECURITY;
  return headers;
}

/** Creates the exchange of one request. */
export function openExchange(
  request: IncomingMessage,
  response: ServerResponse,
  { trustedProxies, isHttps }: ExchangeOptions,
): OpenExchange {
  const requestId = givenRequestId(request) ?? newId("req");
  const headers = commonHeaders(requestId, isHttps);
  let signal: AbortSignal | undefined;
  const exchange: OpenExchange = {
    requestId,
    clientId: undefined,
    logIds: undefined,
    memory: undefined,
    headers,
    address: callerAddress(request, trustedProxies),
    header: (name) => joinHeader(request.headers[name.toLowerCase()]),
    callerGone() {
      signal ??= disconnectSignal(response);
      return signal;
    },
    setHeader(name, value) {
      headers[name] = value;
    },
    addLogIds(ids) {
      exchange.logIds = { ...exchange.logIds, ...ids };
    },
  };
  return exchange;
}

/** Made only when it is asked for: most requests are over before anything could be cancelled. */
function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.closed) controller.abort();
  else response.once("close", () => controller.abort());
  return controller.signal;
}

const joinHeader = (value: string | string[] | undefined) =>
  Array.isArray(value) ? value.join(", ") : value;

function givenRequestId(request: IncomingMessage): string | undefined {
  const given = joinHeader(request.headers["x-request-id"]);
  return given !== undefined && /^[\x21-\x7e]{1,128}$/.test(given) ? given : undefined;
}

/** The socket's peer, or the address that the outermost trusted proxy saw. */
function callerAddress(request: IncomingMessage, trustedProxies: number): string {
  if (trustedProxies === 0) return request.socket.remoteAddress ?? "";
  const forwarded = joinHeader(request.headers["x-forwarded-for"])?.split(",") ?? [];
  const hops = [...forwarded.map((hop) => hop.trim()), request.socket.remoteAddress ?? ""];
  return hops[Math.max(0, hops.length - 1 - trustedProxies)] ?? "";
}
