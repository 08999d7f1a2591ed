import type { Worker as Fork } from "node:cluster";
import cluster from "node:cluster";
import { once } from "node:events";
import { AggregatorRegistry } from "prom-client";
import { SECOND } from "./durations.ts";
import type { Log } from "./log.ts";
import type { Metrics, MetricsText } from "./metrics.ts";
import type { Worker } from "./supervise.ts";

/**
 * Runs several processes that share one port. A fork is starting until it listens, then running until it exits.
 * An exit before `close` starts a replacement after 1 s; `close` stops all forks and starts no more.
 */
export function createForks(count: number, log: Log): Worker & { metrics: MetricsText } {
  const aggregator = new AggregatorRegistry();
  const forks = new Set<Fork>();
  let closing = false;
  const spawn = () => {
    // The parent serves the aggregated metrics of all forks, so that no fork opens a metrics port.
    const fork = cluster.fork({ METRICS_PORT: "" });
    forks.add(fork);
    fork.on("error", (error) => log.warn("fork.failed", { fork_pid: fork.process.pid, err: error }));
    fork.on("exit", (code, signal) => {
      forks.delete(fork);
      if (closing) return;
      log.error("fork.exited", { fork_pid: fork.process.pid, code, signal });
      setTimeout(() => closing || spawn(), 1 * SECOND);
    });
    return fork;
  };
  return {
    name: "forks",
    metrics: { contentType: aggregator.contentType, text: () => aggregator.clusterMetrics() },
    async start() {
      answerMetricsRequests(() => aggregator.clusterMetrics());
      const starting = Array.from({ length: count }, spawn);
      await Promise.all(starting.map(waitUntilListening));
    },
    async close() {
      closing = true;
      await Promise.all([...forks].map(stopFork));
    },
  };
}

/** Rejects when a fork exits before it listens: a restart would fail the same way, so the parent ends too. */
async function waitUntilListening(fork: Fork): Promise<void> {
  const ended = once(fork, "exit").then(() => Promise.reject(new Error("a fork exited before it listened")));
  await Promise.race([once(fork, "listening"), ended]);
}

async function stopFork(fork: Fork): Promise<void> {
  const exited = once(fork, "exit");
  fork.process.kill("SIGTERM");
  await exited;
}

const METRICS_REQUEST = "herald:metrics-request";
const METRICS_RESPONSE = "herald:metrics-response";

interface MetricsMessage {
  type: typeof METRICS_REQUEST | typeof METRICS_RESPONSE;
  requestId: number;
  text?: string;
}

function answerMetricsRequests(collectMetrics: () => Promise<string>): void {
  cluster.on("message", (fork, message: MetricsMessage) => {
    if (message?.type !== METRICS_REQUEST) return;
    const respond = (text?: string) =>
      sendToFork(fork, { ...message, type: METRICS_RESPONSE, ...(text ? { text } : {}) });
    collectMetrics().then(respond, () => respond());
  });
}

/** Ignores a fork that has exited: without the callback, the failed send would end the parent. */
function sendToFork(fork: Fork, message: MetricsMessage): void {
  if (fork.isConnected()) fork.send(message, () => {});
}

/** Inside a fork: the aggregated metrics of all forks, requested from the parent. Otherwise the process's own. */
export function sharedMetrics(metrics: Metrics): MetricsText {
  if (!cluster.isWorker) return metrics;
  AggregatorRegistry.setRegistries(metrics.registry);
  new AggregatorRegistry(); // the constructor makes this fork answer the parent's metrics requests
  let lastRequestId = 0;
  const text = () =>
    new Promise<string>((resolve, reject) => {
      const request: MetricsMessage = { type: METRICS_REQUEST, requestId: ++lastRequestId };
      const onMessage = (message: MetricsMessage) => {
        if (message?.type !== METRICS_RESPONSE || message.requestId !== request.requestId) return;
        process.off("message", onMessage);
        if (message.text === undefined)
          reject(new Error("the parent could not collect the metrics of all forks"));
        else resolve(message.text);
      };
      process.on("message", onMessage);
      process.send?.(request);
    });
  return { contentType: metrics.contentType, text };
}
