import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Prints the port of a peer that listens, which tells the benchmark that it is ready. */
export const announcePort = (port: number): void => void process.stdout.write(`${port}\n`);

/** Listens on any free port and prints it. */
export const listen = (server: Server): void =>
  void server.listen(0, "127.0.0.1", () => announcePort((server.address() as AddressInfo).port));
