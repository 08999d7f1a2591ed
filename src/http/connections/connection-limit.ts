import type { Server } from "node:http";
import type { Socket } from "node:net";
import { MINUTE } from "../../runtime/durations.ts";
import type { Log } from "../../runtime/logging/log.ts";
import { createShares } from "../../runtime/shares.ts";

interface ConnectionLimit {
  /** 0 for no limit. */
  maxPerAddress: number;
  log: Log;
}

/** An attack refuses many connections: it is logged once in this time. */
const LOG_INTERVAL_MS = 1 * MINUTE;

/** Closes new connections of an address that has too many, so that one machine cannot use up the process's sockets. */
export function limitConnections(server: Server, { maxPerAddress, log }: ConnectionLimit): void {
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
