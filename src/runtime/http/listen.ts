import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { SECOND } from "../durations.ts";

export const isAddressInUse = (error: unknown): boolean =>
  (error as { code?: unknown }).code === "EADDRINUSE";

/** Listens on the port; rejects on failure instead of emitting `error`. */
export function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Connections still open this long after `close` are destroyed, so that a slow sender cannot block the shutdown. */
const FORCE_CLOSE_AFTER_MS = 15 * SECOND;
/** Idle connections are closed after this time even if requests still arrive: those have the rest of the time to finish. */
const MAX_IDLE_GRACE_MS = 10 * SECOND;

interface ConnectionOptions {
  /** At the close, idle connections stay open until nothing has arrived and ended for so long. */
  idleGraceMs?: number;
}

export interface Connections {
  /** True while a completely received request is being answered on this connection. */
  isAnswering(socket: Socket): boolean;
  /** Stops accepting connections, closes those that stay idle, and waits for the responses in flight. */
  close(): Promise<void>;
}

/**
 * Tracks a server's connections: idle (no open response) or busy. Requests and responses move a connection between the
 * two. Once `close` is called, requests on open connections are still answered, with `Connection: close`, and idle connections
 * are closed. Node's own `close` would end idle connections at once, with the requests that clients are just sending, and
 * wait for those that never sent one; browsers and routers hold both open.
 */
export function trackConnections(server: Server, { idleGraceMs = 0 }: ConnectionOptions = {}): Connections {
  const openResponses = new Map<Socket, Set<ServerResponse>>();
  /** Set once `close` is called. */
  let quietTimer: NodeJS.Timeout | undefined;

  function closeIdleConnections(): void {
    for (const [socket, responses] of openResponses) if (responses.size === 0) socket.destroySoon();
  }

  server.on("connection", (socket: Socket) => {
    openResponses.set(socket, new Set());
    socket.once("close", () => openResponses.delete(socket));
    quietTimer?.refresh();
  });
  // Before the server's own listener, which may answer at once.
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const responses = openResponses.get(socket);
    responses?.add(response);
    // "close" is emitted once; `once` would make a wrapper for each request.
    response.on("close", () => {
      responses?.delete(response);
      quietTimer?.refresh();
    });
    if (quietTimer && responses) announceClose(responses);
    quietTimer?.refresh();
  });

  return {
    isAnswering: (socket) => [...(openResponses.get(socket) ?? [])].some(({ req }) => req.complete),
    async close() {
      // The event loop reads what arrived during a long turn before it runs immediates.
      quietTimer = setTimeout(() => setImmediate(closeIdleConnections), idleGraceMs);
      for (const responses of openResponses.values()) announceClose(responses);
      const idleTimer = setTimeout(closeIdleConnections, MAX_IDLE_GRACE_MS);
      const forceCloseTimer = setTimeout(() => server.closeAllConnections(), FORCE_CLOSE_AFTER_MS);
      // Node's `close` calls this method first.
      server.closeIdleConnections = () => {};
      await new Promise((resolve) => server.close(resolve));
      for (const timer of [quietTimer, idleTimer, forceCloseTimer]) clearTimeout(timer);
    },
  };
}

/** Only the last response of a connection announces the close: requests that wait behind an earlier one would be lost. */
function announceClose(responses: Set<ServerResponse>): void {
  const last = [...responses].at(-1);
  for (const response of responses)
    if (!response.headersSent) response.setHeader("Connection", response === last ? "close" : "keep-alive");
}
