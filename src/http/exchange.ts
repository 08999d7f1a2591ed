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
