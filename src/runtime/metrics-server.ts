import { createServer } from "node:http";
import { closeServer, isAddressInUse, listen } from "./listen.ts";
import type { Log } from "./log.ts";
import type { MetricsText } from "./metrics.ts";
import type { Worker } from "./supervise.ts";

const PORTS_TRIED = 100;

/** Serves the process's metrics on its own port, so that processes without an HTTP surface can be watched too. */
export function metricsServer(port: number | undefined, metrics: MetricsText, log: Log): Worker {
  const server = createServer((_request, response) => {
    metrics.text().then(
      (text) => response.writeHead(200, { "content-type": metrics.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  return {
    name: "metrics",
    async start() {
      if (port === undefined) return;
      const taken = await listenFrom(port, (candidate) => listen(server, candidate, "0.0.0.0"));
      log.info("metrics.listening", { port: taken });
    },
    async close() {
      if (server.listening) await closeServer(server);
    },
  };
}

async function listenFrom(first: number, tryPort: (port: number) => Promise<void>): Promise<number> {
  for (let port = first; ; port++) {
    try {
      await tryPort(port);
      return port;
    } catch (error) {
      if (!isAddressInUse(error) || port >= first + PORTS_TRIED) throw error;
    }
  }
}
