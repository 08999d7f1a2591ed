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

export interface Connections {
  /** True while a completely received request is being answered on this connection. */
  isAnswering(socket: Socket): boolean;
  /** Stops accepting connections, ends idle ones, and waits for the responses in flight. */
  close(): Promise<void>;
}

/**
 * Tracks a server's connections: idle (no open request) or busy. Requests and responses move a connection between the
 * two; once `close` is called, a connection is ended as soon as it is idle. Node's own `close` would wait for
 * connections that never sent a request and for keep-alive connections; browsers and routers hold both open.
 */
export function trackConnections(server: Server): Connections {
  const openRequests = new Map<Socket, Set<IncomingMessage>>();
  let closing = false;
  const closeIfIdle = (socket: Socket) => {
    if (closing && !openRequests.get(socket)?.size) socket.destroySoon();
  };
  server.on("connection", (socket: Socket) => {
    openRequests.set(socket, new Set());
    socket.once("close", () => openRequests.delete(socket));
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (closing) response.setHeader("Connection", "close");
    openRequests.get(socket)?.add(request);
    // "close" is emitted once; `once` would make a wrapper for each request.
    response.on("close", () => {
      openRequests.get(socket)?.delete(request);
      closeIfIdle(socket);
    });
  });
  return {
    isAnswering: (socket) => [...(openRequests.get(socket) ?? [])].some((request) => request.complete),
    close: () =>
      new Promise((resolve, reject) => {
        closing = true;
        const forceCloseTimer = setTimeout(() => server.closeAllConnections(), FORCE_CLOSE_AFTER_MS);
        server.close((error) => {
          clearTimeout(forceCloseTimer);
          if (error) reject(error);
          else resolve();
        });
        for (const socket of openRequests.keys()) closeIfIdle(socket);
      }),
  };
}
