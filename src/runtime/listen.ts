import type { Server } from "node:http";

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

/** Takes no new connection, ends the idle ones, and waits for the answers that are under way. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error ? reject(error) : resolve()));
    server.closeIdleConnections();
  });
}
