import type { IncomingMessage } from "node:http";
import { newId } from "../runtime/ids.ts";
import { API_VERSION } from "../schema/version.ts";
import type { Exchange } from "./route.ts";

export interface OpenExchange extends Exchange {
  /** Set after authentication; for the log. */
  clientId: string | undefined;
  /** Response headers, written in one call: setting each on the response is slower. */
  headers: Record<string, string | number>;
}

/** Creates the exchange of one request: its id and the headers that every response carries. */
export function openExchange(request: IncomingMessage, trustedProxies: number): OpenExchange {
  const requestId = givenRequestId(request) ?? newId("req");
  const headers: OpenExchange["headers"] = {
    "X-Request-Id": requestId,
    "X-Api-Version": API_VERSION,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
  };
  return {
    requestId,
    clientId: undefined,
    headers,
    address: callerAddress(request, trustedProxies),
    header: (name) => joinHeader(request.headers[name.toLowerCase()]),
    setHeader(name, value) {
      headers[name] = value;
    },
  };
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
