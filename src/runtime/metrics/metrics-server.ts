import { createServer } from "node:http";
import type { Config } from "../config/config.ts";
import { isAddressInUse, listen, trackConnections } from "../listen.ts";
import type { Log } from "../logging/log.ts";
import type { Worker } from "../supervise.ts";
import type { MetricsText } from "./metrics.ts";

interface MetricsServerParts {
  settings: Pick<Config, "METRICS_PORT" | "METRICS_TOKEN" | "HOST">;
  metrics: MetricsText;
  log: Log;
  /** Checks the Authorization header. */
  isAuthorized(header: string | undefined): boolean;
}

const MAX_PORT_ATTEMPTS = 100;

/**
 * Serves the process's metrics on METRICS_PORT, so that processes without an HTTP API can be monitored too. Without a
 * METRICS_TOKEN only this machine can read them.
 */
export function metricsServer({ settings, metrics, log, isAuthorized }: MetricsServerParts): Worker {
  const { METRICS_PORT, METRICS_TOKEN, HOST } = settings;
  const host = METRICS_TOKEN === undefined ? "127.0.0.1" : HOST;
  const server = createServer((request, response) => {
    if (!isAuthorized(request.headers.authorization))
      return void response.writeHead(401, { "www-authenticate": "Bearer" }).end();
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
      const boundPort = await listenOnFreePort(METRICS_PORT, (port) => listen(server, port, host));
      log.info("metrics.listening", { host, port: boundPort });
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
