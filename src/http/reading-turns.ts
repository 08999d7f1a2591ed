import type { Server } from "node:http";
import type { Socket } from "node:net";
import { SECOND } from "../runtime/durations.ts";
import { networkOf } from "../runtime/network-of.ts";
import { createShares, type Grant } from "../runtime/shares.ts";

/**
 * One read of a connection takes up to 64 KiB, and Node parses all of it before any limit can act: thousands of tiny chunks
 * or of pipelined requests block the event loop for some 30 ms. Such reads are made in turn between networks, a few per turn
 * of the event loop.
 */
const turns = createShares({
  capacity: 8,
  maxWaitingPerKey: Number.POSITIVE_INFINITY, // the connections are limited
  maxWaitMs: 20 * SECOND,
});

/** Reads each new connection in turn. */
export function readFirstInTurn(server: Server): void {
  server.on("connection", readInTurn);
}

/** Stops reading the socket until its turn. */
export function readInTurn(socket: Socket): void {
  const key = networkOf(socket.remoteAddress ?? "");
  const free = turns.tryTake(key, 1);
  if (free) releaseAfterRead(free);
  else void waitForTurn(socket, key);
}

async function waitForTurn(socket: Socket, key: string): Promise<void> {
  socket.pause();
  try {
    releaseAfterRead(await turns.take(key, 1));
    socket.resume();
  } catch {
    socket.destroy();
  }
}

/** The socket is read between the two. */
function releaseAfterRead(grant: Grant): void {
  setImmediate(() => setImmediate(grant.release));
}
