import cluster, { type Worker as Fork } from "node:cluster";
import { once } from "node:events";
import { AggregatorRegistry } from "prom-client";
import { SECOND } from "./durations.ts";
import type { Log } from "./logging/log.ts";
import type { Metrics, MetricsText } from "./metrics/metrics.ts";
import type { Worker } from "./supervise.ts";

/** Several processes that share one port. A fork that dies is replaced. */
export function createForks(count: number, log: Log): Worker & { metrics: MetricsText } {
  const all = new AggregatorRegistry();
  const forks = new Set<Fork>();
  let closing = false;
  const spawn = () => {
    // Their metrics are served by the parent, added up: none of them takes a port for its own.
    const fork = cluster.fork({ METRICS_PORT: "" });
    forks.add(fork);
    fork.on("error", (error) => log.warn("fork.error", { pid: fork.process.pid, err: error }));
    fork.on("exit", (code, signal) => {
      forks.delete(fork);
      if (closing) return;
      log.error("fork.died", { pid: fork.process.pid, code, signal });
      setTimeout(() => closing || spawn(), 1 * SECOND);
    });
    return fork;
  };
  return {
    name: "forks",
    metrics: { contentType: all.contentType, text: () => all.clusterMetrics() },
    async start() {
      answerMetricsRequests(() => all.clusterMetrics());
      const starting = Array.from({ length: count }, spawn);
      await Promise.all(starting.map(untilListening));
    },
    async close() {
      closing = true;
      await Promise.all([...forks].map(stopFork));
    },
  };
}

/** A fork that ends before it ever listened will not do better the next time: the parent gives up and says so. */
async function untilListening(fork: Fork): Promise<void> {
  const ended = once(fork, "exit").then(() => Promise.reject(new Error("a fork ended before it listened")));
  await Promise.race([once(fork, "listening"), ended]);
}

async function stopFork(fork: Fork): Promise<void> {
  const exited = once(fork, "exit");
  fork.process.kill("SIGTERM");
  await exited;
}

const METRICS_WANTED = "herald:metrics-wanted";
const METRICS_TOLD = "herald:metrics-told";

interface MetricsMessage {
  type: typeof METRICS_WANTED | typeof METRICS_TOLD;
  number: number;
  text?: string;
}

function answerMetricsRequests(metricsOfAll: () => Promise<string>): void {
  cluster.on("message", (fork, message: MetricsMessage) => {
    if (message?.type !== METRICS_WANTED) return;
    const tell = (text?: string) =>
      tellFork(fork, { ...message, type: METRICS_TOLD, ...(text ? { text } : {}) });
    metricsOfAll().then(tell, () => tell());
  });
}

/** A fork that has gone meanwhile does not want to hear it any more; without the callback that would end its parent. */
function tellFork(fork: Fork, message: MetricsMessage): void {
  if (fork.isConnected()) fork.send(message, () => {});
}

/** In a fork: the numbers of all forks together, asked of their parent. Outside of one: the process's own. */
export function sharedMetrics(metrics: Metrics): MetricsText {
  if (!cluster.isWorker) return metrics;
  AggregatorRegistry.setRegistries(metrics.registry);
  new AggregatorRegistry(); // its construction is what makes this fork answer the parent
  let number = 0;
  const text = () =>
    new Promise<string>((resolve, reject) => {
      const wanted: MetricsMessage = { type: METRICS_WANTED, number: ++number };
      const onMessage = (message: MetricsMessage) => {
        if (message?.type !== METRICS_TOLD || message.number !== wanted.number) return;
        process.off("message", onMessage);
        if (message.text === undefined) reject(new Error("a fork did not tell its metrics"));
        else resolve(message.text);
      };
      process.on("message", onMessage);
      process.send?.(wanted);
    });
  return { contentType: metrics.contentType, text };
}
