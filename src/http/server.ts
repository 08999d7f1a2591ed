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

/** Together with the last answers less than a process has for its end. */
const DRAIN_TIMEOUT_MS = 5 * SECOND;

interface ServerOptions {
  port: number;
  host: string;
  log: Log;
}

export interface HttpServer extends Worker {
  /** The port it listens on, once started: settings may ask for any free one. */
  port(): number;
}

/** The listening side of web as a worker: closing it finishes the answers under way. */
export function createHttpServer(
  { listener, waitForDrain }: App,
  { port, host, log }: ServerOptions,
): HttpServer {
  const timeouts = { requestTimeout: 2 * MINUTE, headersTimeout: 20 * SECOND };
  // Node would answer a missing Host or an unknown Expect by itself, without our headers and body.
  const server = createServer({ ...timeouts, requireHostHeader: false }, listener);
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  // Longer than the idle time of the usual routers in front, which otherwise reuse a connection that we just closed.
  server.keepAliveTimeout = 95 * SECOND;
  const connections = trackConnections(server);
  server.on("clientError", (fault: Error & { code?: string }, socket: Socket) => {
    // Written while another answer is under way, this one would be taken for it.
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
      // Who has gone is not waited for above, but what they asked for is under way.
      await withTimeout(DRAIN_TIMEOUT_MS, waitForDrain(), () => log.warn("http.drain_timed_out"));
    },
  };
}

/** What is not HTTP, or too large or slow in its head, never reaches the pipeline; it gets the same error body. */
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
