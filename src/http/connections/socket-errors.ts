import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { newId } from "../../runtime/ids.ts";
import type { Log } from "../../runtime/logging/log.ts";
import { ApiError } from "../api-error.ts";
import { JSON_TYPE, toErrorBody } from "../error-reply.ts";
import { commonHeaders } from "../exchange.ts";

interface SocketParts {
  log: Log;
  isHttps: boolean;
}

/**
 * Answers requests that Node does not pass to the pipeline, with the same headers and error body, and closes the
 * connection. `fault` is the parser's code, for the log.
 */
export const createSocketRejecter =
  ({ log, isHttps }: SocketParts) =>
  (socket: Socket, error: ApiError, fault?: string): void => {
    const requestId = newId("req");
    const body = JSON.stringify(toErrorBody(error, requestId));
    const headers = {
      ...commonHeaders(requestId, isHttps),
      ...error.headers,
      Connection: "close",
      "Content-Type": JSON_TYPE,
      "Content-Length": Buffer.byteLength(body),
    };
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const statusLine = `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`;
    socket.end(`${[statusLine, ...head].join("\r\n")}\r\n\r\n${body}`);
    log.info("http.parse_failed", { request_id: requestId, status: error.status, error: error.code, fault });
  };

/** This service is not a proxy. */
export const connectNotAllowed = (): ApiError =>
  new ApiError("method_not_allowed", "CONNECT is not allowed: this service is not a proxy", {
    headers: { Allow: "GET, HEAD, POST, PATCH, PUT, DELETE" },
  });

/** The error for a request that Node's parser rejects. */
export function toParseError({ code = "" }: Error & { code?: string }): ApiError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new ApiError("request_timeout", "The request did not arrive in time");
  return new ApiError(
    "validation_failed",
    code === "HPE_HEADER_OVERFLOW"
      ? "The request's headers are too large"
      : "The request is not valid HTTP/1.1",
  );
}
