import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { withTimeout } from "../runtime/async/with-timeout.ts";
import { MINUTE, SECOND } from "../runtime/durations.ts";
import { listen, trackConnections } from "../runtime/listen.ts";
import type { Log } from "../runtime/logging/log.ts";
import type { Worker } from "../runtime/supervise.ts";
import type { App } from "./app.ts";
import { limitConnections } from "./connections/connection-limit.ts";
import { sliceReads, watchReads } from "./connections/sliced-reads.ts";
import { connectNotAllowed, createSocketRejecter, toParseError } from "./connections/socket-errors.ts";

/** Together with the time for open connections, shorter than the process's shutdown timeout. */
const DRAIN_TIMEOUT_MS = 5 * SECOND;

interface ServerOptions {
  port: number;
  host: string;
  log: Log;
  isHttps: boolean;
  /** Open connections of one address; 0 for no limit. */
  maxConnectionsPerAddress: number;
}

export interface HttpServer extends Worker {
  /** The port in use once started; the settings may ask for any free port. */
  port(): number;
}

/** The HTTP server as a worker: closing it finishes the responses in flight. */
export function createHttpServer(
  { listener, onUnknownExpectation, waitForDrain }: App,
  { port, host, log, isHttps, maxConnectionsPerAddress }: ServerOptions,
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
  const connections = trackConnections(server);
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
