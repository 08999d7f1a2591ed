import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { MINUTE, SECOND } from "../runtime/durations.ts";
import { ApiError } from "../runtime/errors.ts";
import { newId } from "../runtime/ids.ts";
import { closeServer, listen } from "../runtime/listen.ts";
import type { Log } from "../runtime/log.ts";
import type { Worker } from "../runtime/supervise.ts";
import { toErrorBody } from "./error-reply.ts";
import { API_VERSION } from "./exchange.ts";

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
export function httpServer(app: RequestListener, { port, host, log }: ServerOptions): HttpServer {
  const server = createServer({ requestTimeout: 2 * MINUTE, headersTimeout: 20 * SECOND }, app);
  // Longer than the idle time of the usual routers in front, which otherwise reuse a connection that we just closed.
  server.keepAliveTimeout = 95 * SECOND;
  server.on("clientError", answerUnreadable);
  return {
    name: "http",
    port: () => (server.address() as AddressInfo).port,
    async start({ fail }) {
      await listen(server, port, host);
      server.on("error", fail);
      log.info("http.listening", { host, port: (server.address() as AddressInfo).port });
    },
    async close() {
      if (server.listening) await closeServer(server);
    },
  };
}

/** What is not HTTP, or too large or slow in its head, never reaches the pipeline; it gets the same error body. */
function answerUnreadable(fault: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || fault.code === "ECONNRESET") return void socket.destroy();
  const error = new ApiError(
    "validation_failed",
    UNREADABLE[fault.code ?? ""] ?? "The request is not valid HTTP/1.1",
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
}

const UNREADABLE: Record<string, string> = {
  HPE_HEADER_OVERFLOW: "The request's headers are too large",
  ERR_HTTP_REQUEST_TIMEOUT: "The request did not arrive in time",
};
