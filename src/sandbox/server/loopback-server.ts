import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { isAddressInUse, listen, trackConnections } from "../../runtime/listen.ts";

export interface LoopbackServer {
  port(): number;
  /** 0 selects any free port. */
  start(port: number, fail: (error: unknown) => void): Promise<void>;
  close(): Promise<void>;
}

/** Listens on both loopback addresses with one port: programs resolve `localhost` to either of them. */
export function createLoopbackServer(answer: RequestListener): LoopbackServer {
  const [ipv4, ipv6] = [createServer(answer), createServer(answer)];
  const servers = [ipv4, ipv6].map((server) => ({ server, connections: trackConnections(server) }));
  const port = () => (ipv4.address() as AddressInfo).port;
  return {
    port,
    async start(requestedPort, fail) {
      await listen(ipv4, requestedPort, "127.0.0.1");
      await listenIfSupported(ipv6, port());
      for (const { server } of servers) server.on("error", fail);
    },
    async close() {
      for (const { server, connections } of servers) if (server.listening) await connections.close();
    },
  };
}

/**
 * Continues without IPv6 when the machine has none. Fails when another program uses the port: it would answer
 * calls that are meant for the sandbox.
 */
async function listenIfSupported(server: Server, port: number): Promise<void> {
  try {
    await listen(server, port, "::1");
  } catch (error) {
    if (isAddressInUse(error)) throw error;
  }
}
