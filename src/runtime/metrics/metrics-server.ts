import { createServer } from "node:http";
import type { Config } from "../config/config.ts";
import { isAddressInUse, listen, trackConnections } from "../listen.ts";
import type { Log } from "../logging/log.ts";
import type { Worker } from "../supervise.ts";
import type { MetricsText } from "./metrics.ts";

type Settings = Pick<Config, "METRICS_PORT" | "HOST">;

const MAX_PORT_ATTEMPTS = 100;

/** Serves the process's metrics on METRICS_PORT, so that processes without an HTTP API can be monitored too. */
export function metricsServer({ METRICS_PORT, HOST }: Settings, metrics: MetricsText, log: Log): Worker {
  const server = createServer((_request, response) => {
    metrics.text().then(
      (text) => response.writeHead(200, { "content-type": metrics.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  const connections = trackConnections(server);
  return {
    name: "metrics",
    async start() {
      if (METRICS_PORT === undefined) return;
      const boundPort = await listenOnFreePort(METRICS_PORT, (port) => listen(server, port, HOST));
      log.info("metrics.listening", { port: boundPort });
    },
    async close() {
      if (server.listening) await connections.close();
    },
  };
}

async function listenOnFreePort(first: number, tryPort: (port: number) => Promise<void>): Promise<number> {
  for (let port = first; ; port++) {
    try {
      await tryPort(port);
      return port;
    } catch (error) {
      if (!isAddressInUse(error) || port >= first + MAX_PORT_ATTEMPTS) throw error;
    }
  }
}
