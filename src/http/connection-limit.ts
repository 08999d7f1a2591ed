import type { Server } from "node:http";
import type { Socket } from "node:net";
import { MINUTE } from "../runtime/durations.ts";
import type { Log } from "../runtime/logging/log.ts";

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
  const openByAddress = new Map<string, number>();
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
    const open = openByAddress.get(address) ?? 0;
    if (open >= maxPerAddress) return refuse(socket, address);
    openByAddress.set(address, open + 1);
    socket.once("close", () => {
      const left = (openByAddress.get(address) as number) - 1;
      if (left > 0) openByAddress.set(address, left);
      else openByAddress.delete(address);
    });
  });
}
