import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { withTimeout } from "../runtime/async/with-timeout.ts";
import { MINUTE, SECOND } from "../runtime/durations.ts";
import { newId } from "../runtime/ids.ts";
import { listen, trackConnections } from "../runtime/listen.ts";
import type { Log } from "../runtime/logging/log.ts";
import type { Worker } from "../runtime/supervise.ts";
import { API_VERSION } from "../schema/version.ts";
import { ApiError } from "./api-error.ts";
import type { App } from "./app.ts";
import { toErrorBody } from "./error-reply.ts";

/** Together with the time for open connections, shorter than the process's shutdown timeout. */
const DRAIN_TIMEOUT_MS = 5 * SECOND;

interface ServerOptions {
  port: number;
  host: string;
  log: Log;
}

export interface HttpServer extends Worker {
  /** The port in use once started; the settings may ask for any free port. */
  port(): number;
}

/** The HTTP server as a worker: closing it finishes the responses in flight. */
export function createHttpServer(
  { listener, waitForDrain }: App,
  { port, host, log }: ServerOptions,
): HttpServer {
  const timeouts = { requestTimeout: 2 * MINUTE, headersTimeout: 20 * SECOND };
  // Node would answer a missing Host or an unknown Expect itself, without our headers and error body.
  const server = createServer({ ...timeouts, requireHostHeader: false }, listener);
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  // Longer than the idle timeout of common load balancers, which could otherwise reuse a connection just
  // closed.
  server.keepAliveTimeout = 95 * SECOND;
  const connections = trackConnections(server);
  server.on("clientError", (fault: Error & { code?: string }, socket: Socket) => {
    // An error written while another response is in flight would be read as part of that response.
    if (!socket.writable || fault.code === "ECONNRESET" || connections.isAnswering(socket))
      return socket.destroy();
    return replyBadRequest(fault, socket, log);
  });
  return {
    name: "http",
    port: () => (server.address() as AddressInfo).port,
    async start({ fail }) {
      await listen(server, port, host);
      server.on("error", fail);
      log.info("http.listening", { host, port: (server.address() as AddressInfo).port });
    },
    async close() {
      if (server.listening) await connections.close();
      // Requests whose callers have disconnected have no connection left, but their work is still running.
      await withTimeout(DRAIN_TIMEOUT_MS, waitForDrain(), () => log.warn("http.drain_timed_out"));
    },
  };
}

/**
 * Answers requests that Node's parser rejects, and that never reach the pipeline, with the same error body.
 */
function replyBadRequest({ code = "" }: Error & { code?: string }, socket: Socket, log: Log): void {
  const error = new ApiError(
    "validation_failed",
    PARSE_ERROR_MESSAGES[code] ?? "The request is not valid HTTP/1.1",
  );
  const requestId = newId("req");
  const body = JSON.stringify(toErrorBody(error, requestId));
  const head = [
    "HTTP/1.1 400 Bad Request",
    "Connection: close",
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    `X-Api-Version: ${API_VERSION}`,
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  log.info("http.parse_failed", {
    request_id: requestId,
    status: error.status,
    error: error.code,
    fault: code,
  });
}

const PARSE_ERROR_MESSAGES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: "The request's headers are too large",
  ERR_HTTP_REQUEST_TIMEOUT: "The request did not arrive in time",
};
