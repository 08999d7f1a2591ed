import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createShares } from "../runtime/async/shares.ts";
import { withTimeout } from "../runtime/async/timeouts-and-retries.ts";
import { MINUTE, SECOND } from "../runtime/durations.ts";
import { listen, trackConnections } from "../runtime/http/listen.ts";
import { newId } from "../runtime/ids.ts";
import type { Log } from "../runtime/log.ts";
import type { Worker } from "../runtime/supervise.ts";
import { ApiError } from "./api-error.ts";
import type { App } from "./app.ts";
import { toErrorBody } from "./error-reply.ts";
import { commonHeaders, JSON_TYPE } from "./reply.ts";
import { sliceReads, watchReads } from "./request/sliced-reads.ts";

/** Together with the time for open connections, shorter than the process's shutdown timeout. */
const DRAIN_TIMEOUT_MS = 5 * SECOND;
/** Closed at once, idle connections would lose the requests that clients are sending at this moment. */
export const IDLE_CONNECTION_GRACE_MS = 1 * SECOND;

interface ServerOptions {
  port: number;
  host: string;
  log: Log;
  isHttps: boolean;
  /** Open connections of one address; 0 for no limit. */
  maxConnectionsPerAddress: number;
  /** Milliseconds without traffic after which idle connections are closed at shutdown. */
  idleGraceMs: number;
}

export interface HttpServer extends Worker {
  /** The port in use once started; the settings may ask for any free port. */
  port(): number;
}

/** The HTTP server as a worker: closing it finishes the responses in flight. */
export function createHttpServer(
  { listener, onUnknownExpectation, waitForDrain }: App,
  { port, host, log, isHttps, maxConnectionsPerAddress, idleGraceMs }: ServerOptions,
): HttpServer {
  // Ends the bodies of refused requests, which are dropped: each body that is read has its own limits.
  const timeouts = { requestTimeout: 11 * MINUTE, headersTimeout: 20 * SECOND };
  // Node would answer a missing Host itself, without our headers and error body.
  const server = createServer({ ...timeouts, requireHostHeader: false }, oneAtATime(listener));
  server.on("checkExpectation", onUnknownExpectation);
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    // Node also takes a header that merely contains the word.
    if (request.headers.expect?.toLowerCase() !== "100-continue")
      return onUnknownExpectation(request, response);
    // The sender is asked for the body when it is read, not while it waits for memory or is refused.
    request.once("resume", () => response.headersSent || response.writeContinue());
    server.emit("request", request, response);
  });
  // Longer than the idle timeout of common load balancers, which could otherwise reuse a connection just
  // closed.
  server.keepAliveTimeout = 95 * SECOND;
  const connections = trackConnections(server, { idleGraceMs });
  limitConnections(server, { maxPerAddress: maxConnectionsPerAddress, log });
  watchReads(server);
  const rejectOnSocket = createSocketRejecter({ log, isHttps });
  server.on("connect", (_request, socket: Socket) => rejectOnSocket(socket, connectNotAllowed()));
  server.on("clientError", (fault: Error & { code?: string }, socket: Socket) => {
    // An error written while another response is in flight would be read as part of that response.
    if (!socket.writable || fault.code === "ECONNRESET" || connections.isAnswering(socket))
      return socket.destroy();
    return rejectOnSocket(socket, toParseError(fault), fault.code);
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

type Pipelined = [request: IncomingMessage, response: ServerResponse];

/** The state of a connection is kept in its socket: a map would cost more for each request. */
const IS_BUSY = Symbol("a request is in work");
const WAITING = Symbol("waiting requests");
const HAS_DROPPED = Symbol("requests were dropped");

interface PipelinedSocket extends Socket {
  [IS_BUSY]?: boolean;
  [WAITING]?: Pipelined[];
  [HAS_DROPPED]?: boolean;
}

/** With more waiting requests, the connection is closed. */
const MAX_WAITING_REQUESTS = 32;

/**
 * Begins the requests of a connection one after the other: the next one when the answer before it was handed to the socket.
 * While one waits, the socket is not read, so that a caller cannot fill the memory with requests and their answers. Requests
 * that arrived together are parsed together: beyond the limit they are dropped, and the connection is closed after the answer
 * in work.
 */
function oneAtATime(listener: RequestListener): RequestListener {
  function begin(request: IncomingMessage, response: ServerResponse): void {
    response.on("close", () => end(request.socket));
    listener(request, response);
  }

  /** The next one begins in a later turn of the event loop: many connections with many requests must not make one long turn. */
  function end(socket: PipelinedSocket): void {
    if (socket[WAITING]?.length) setImmediate(beginNext, socket, socket[WAITING]);
    else socket[IS_BUSY] = false;
  }

  function beginNext(socket: PipelinedSocket, waiting: Pipelined[]): void {
    if (socket.destroyed) return;
    if (socket[HAS_DROPPED]) {
      socket.destroySoon();
      return;
    }
    const next = waiting.shift() as Pipelined;
    if (waiting.length === 0) socket.resume();
    begin(...next);
  }

  return (request, response) => {
    const socket: PipelinedSocket = request.socket;
    if (!socket[IS_BUSY]) {
      socket[IS_BUSY] = true;
      begin(request, response);
      return;
    }
    socket.pause();
    socket[WAITING] ??= [];
    if (socket[WAITING].length < MAX_WAITING_REQUESTS) {
      socket[WAITING].push([request, response]);
      return;
    }
    socket[HAS_DROPPED] = true;
    sliceReads(socket);
  };
}

interface ConnectionLimit {
  /** 0 for no limit. */
  maxPerAddress: number;
  log: Log;
}

/** An attack refuses many connections: it is logged once in this time. */
const LOG_INTERVAL_MS = 1 * MINUTE;

/** Closes new connections of an address that has too many, so that one machine cannot use up the process's sockets. */
function limitConnections(server: Server, { maxPerAddress, log }: ConnectionLimit): void {
  if (maxPerAddress === 0) return;
  const connections = createShares({
    capacity: Number.POSITIVE_INFINITY,
    share: maxPerAddress,
    maxWaitingPerKey: 0,
    maxWaitMs: 0,
  });
  let refused = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;

  function refuse(socket: Socket, address: string): void {
    socket.destroy();
    refused += 1;
    if (performance.now() - loggedAt < LOG_INTERVAL_MS) return;
    log.warn("http.connections_refused", { address, limit: maxPerAddress, count: refused });
    loggedAt = performance.now();
    refused = 0;
  }

  server.on("connection", (socket: Socket) => {
    const { remoteAddress: address } = socket;
    if (address === undefined) return; // already closed
    const connection = connections.tryTake(address, 1);
    if (connection) socket.once("close", () => connection.release());
    else refuse(socket, address);
  });
}

interface SocketParts {
  log: Log;
  isHttps: boolean;
}

/**
 * Answers requests that Node does not pass to the pipeline, with the same headers and error body, and closes the
 * connection. `fault` is the parser's code, for the log.
 */
const createSocketRejecter =
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
const connectNotAllowed = (): ApiError =>
  new ApiError("method_not_allowed", "CONNECT is not allowed: this service is not a proxy", {
    headers: { Allow: "GET, HEAD, POST, PATCH, PUT, DELETE" },
  });

/** The error for a request that Node's parser rejects. */
function toParseError({ code = "" }: Error & { code?: string }): ApiError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new ApiError("request_timeout", "The request did not arrive in time");
  return new ApiError(
    "validation_failed",
    code === "HPE_HEADER_OVERFLOW"
      ? "The request's headers are too large"
      : "The request is not valid HTTP/1.1",
  );
}
