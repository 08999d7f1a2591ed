import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { isAddressInUse, listen, trackConnections } from "../../runtime/listen.ts";

export interface Loopback {
  port(): number;
  /** 0 takes any port that is free. */
  start(port: number, fail: (error: unknown) => void): Promise<void>;
  close(): Promise<void>;
}

/** Both loopback addresses on one port: some programs take `localhost` for the one, some for the other. */
export function createLoopback(answer: RequestListener): Loopback {
  const [four, six] = [createServer(answer), createServer(answer)];
  const served = [four, six].map((server) => ({ server, connections: trackConnections(server) }));
  const port = () => (four.address() as AddressInfo).port;
  return {
    port,
    async start(wanted, fail) {
      await listen(four, wanted, "127.0.0.1");
      await listenIfThere(six, port());
      for (const { server } of served) server.on("error", fail);
    },
    async close() {
      for (const { server, connections } of served) if (server.listening) await connections.close();
    },
  };
}

/** A machine without IPv6 does without it; but a stranger there would answer in our place. */
async function listenIfThere(server: Server, port: number): Promise<void> {
  try {
    await listen(server, port, "::1");
  } catch (error) {
    if (isAddressInUse(error)) throw error;
  }
}
