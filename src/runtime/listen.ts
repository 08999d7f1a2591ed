import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { SECOND } from "./durations.ts";

export const isAddressInUse = (error: unknown): boolean =>
  (error as { code?: unknown }).code === "EADDRINUSE";

/** Listens, and rejects instead of emitting when it cannot. */
export function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** A request that is still not answered then has no more than its sender to blame. */
const FORCE_CLOSE_AFTER_MS = 15 * SECOND;

export interface Connections {
  /** Whether a request that has arrived completely is being answered on this connection. */
  isAnswering(socket: Socket): boolean;
  /** Takes no new connection, ends those without a request, and waits for the answers that are under way. */
  close(): Promise<void>;
}

/**
 * Keeps account of a server's connections. Node's own closing waits for connections that have not sent anything yet,
 * and for those that stay open after their answer: browsers and routers hold both.
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
    response.once("close", () => {
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
