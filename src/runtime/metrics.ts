import { createServer } from "node:http";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { withTimeout } from "./async/timeouts-and-retries.ts";
import type { Config } from "./config/config.ts";
import { SECOND } from "./durations.ts";
import { isAddressInUse, listen, trackConnections } from "./http/listen.ts";
import type { Log } from "./log.ts";
import type { Worker } from "./supervise.ts";

/** Metrics in the Prometheus text format. */
export interface MetricsText {
  contentType: string;
  text(): Promise<string>;
}

/** A hanging database delays a scrape by at most this long. */
const COLLECT_TIMEOUT_MS = 2 * SECOND;

/** Runs functions that update gauges before each scrape, whether it is of this process or of all forks of web. */
class CollectingRegistry extends Registry {
  readonly collectors: (() => Promise<void>)[] = [];

  override async metrics(): Promise<string> {
    await this.collect();
    return super.metrics();
  }

  override async getMetricsAsJSON(): ReturnType<Registry["getMetricsAsJSON"]> {
    await this.collect();
    return super.getMetricsAsJSON();
  }

  async collect(): Promise<void> {
    await Promise.all(
      this.collectors.map((collect) => withTimeout(COLLECT_TIMEOUT_MS, collect(), () => {}).catch(() => {})),
    );
  }
}

/** Creates a process's metrics in a registry of their own. */
export function createMetrics(processName: string) {
  const registry = new CollectingRegistry();
  registry.setDefaultLabels({ process: processName });
  const registers = [registry];
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    /** Adds a function that updates gauges before each scrape. Its failures and timeouts are ignored. */
    addCollector: (collect: () => Promise<void>) => void registry.collectors.push(collect),
    /** Adds memory, CPU and event-loop metrics. Separate from the creation because it starts timers. */
    collectProcess: () => collectDefaultMetrics({ register: registry }),
    registry,
    httpRequests: new Counter({
      name: "herald_http_requests_total",
      help: "HTTP requests answered, by method, route pattern and status",
      labelNames: ["method", "route", "status"],
      registers,
    }),
    httpSeconds: new Histogram({
      name: "herald_http_request_duration_seconds",
      help: "Seconds from the request's headers to the end of its handling",
      labelNames: ["method", "route"],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20],
      registers,
    }),
    eventStreams: new Gauge({
      name: "herald_event_streams",
      help: "Open event streams and waiting requests for events of this process",
      registers,
    }),
    platformUpdates: new Counter({
      name: "herald_platform_updates_total",
      help: "Updates received in platform webhooks, by outcome",
      labelNames: ["object", "outcome"],
      registers,
    }),
    platformCalls: new Counter({
      name: "herald_platform_calls_total",
      help: "Calls to the platforms, by outcome: what the platform said, or why there was no answer",
      labelNames: ["platform", "outcome"],
      registers,
    }),
    platformCallSeconds: new Histogram({
      name: "herald_platform_call_duration_seconds",
      help: "Seconds per call to a platform, with its retries; a batch of calls counts once, a paused call not at all",
      labelNames: ["platform"],
      buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30],
      registers,
    }),
    deliveries: new Counter({
      name: "herald_deliveries_total",
      help: "Finished event deliveries, by final state",
      labelNames: ["state"],
      registers,
    }),
    claimedDeliveries: new Counter({
      name: "herald_deliveries_claimed_total",
      help: "Deliveries claimed by this dispatcher, by what told it of the client: a wake-up or the poll",
      labelNames: ["found_by"],
      registers,
    }),
    claimedSends: new Counter({
      name: "herald_sends_claimed_total",
      help: "Messages claimed by this dispatcher, by what told it of the channel: a wake-up or the poll",
      labelNames: ["found_by"],
      registers,
    }),
    attempts: new Counter({
      name: "herald_delivery_attempts_total",
      help: "Delivery attempts, by outcome",
      labelNames: ["outcome"],
      registers,
    }),
    attemptSeconds: new Histogram({
      name: "herald_delivery_attempt_duration_seconds",
      help: "Seconds per delivery attempt, from name resolution to the end of the response",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
      registers,
    }),
    sends: new Counter({
      name: "herald_sends_total",
      help: "Attempts to send a message, and messages given up, by outcome",
      labelNames: ["platform", "outcome"],
      registers,
    }),
    sendSeconds: new Histogram({
      name: "herald_send_duration_seconds",
      help: "Seconds per attempt to send a message",
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
      registers,
    }),
    imageDecodeSeconds: new Histogram({
      name: "herald_image_decode_duration_seconds",
      help: "Seconds per image upload that a thread parsed and decoded",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers,
    }),
    slotsUsed: new Gauge({
      name: "herald_dispatcher_slots_used",
      help: "Slots in use in this dispatcher, by pool; each pool has DISPATCHER_CONCURRENCY slots",
      labelNames: ["pool"],
      registers,
    }),
    queueDepth: new Gauge({
      name: "herald_queue_depth",
      help: "Wake-ups that no dispatcher has read, or entries of a stream of messages, read and unread",
      labelNames: ["stream"],
      registers,
    }),
    queueOldest: new Gauge({
      name: "herald_queue_oldest_due_seconds",
      help: "Seconds since the oldest unclaimed delivery or send became due; 0 when there is none",
      labelNames: ["stream"],
      registers,
    }),
    queueInFlight: new Gauge({
      name: "herald_queue_in_flight",
      help: "Deliveries or sends in flight in all dispatchers",
      labelNames: ["stream"],
      registers,
    }),
    queueWaiting: new Gauge({
      name: "herald_queue_waiting",
      help: "Deliveries or sends that wait, by reason; their sum is everything that waits",
      labelNames: ["stream", "reason"],
      registers,
    }),
    queueOldestAccepted: new Gauge({
      name: "herald_queue_oldest_accepted_seconds",
      help: "Seconds since the oldest delivery or send that is not finished was accepted; 0 when there is none",
      labelNames: ["stream"],
      registers,
    }),
    queueFailed: new Gauge({
      name: "herald_queue_failed_24h",
      help: "Deliveries or messages that failed for good in the last 24 hours",
      labelNames: ["stream"],
      registers,
    }),
    queueHeld: new Gauge({
      name: "herald_queue_held",
      help: "1 while an operator holds the queue, else 0",
      registers,
    }),
    channels: new Gauge({
      name: "herald_channels",
      help: "Channels of all clients, by platform and status",
      labelNames: ["platform", "status"],
      registers,
    }),
    postgresUp: new Gauge({
      name: "herald_postgres_up",
      help: "1 while Postgres answers this process within two seconds, else 0",
      aggregator: "min",
      registers,
    }),
    postgresUsed: new Gauge({
      name: "herald_postgres_connections_used",
      help: "Connections to Postgres that this process uses at the moment",
      registers,
    }),
    postgresWaiting: new Gauge({
      name: "herald_postgres_connections_waiting",
      help: "Statements and transactions of this process that wait for a connection",
      registers,
    }),
    postgresMax: new Gauge({
      name: "herald_postgres_connections_max",
      help: "Connections to Postgres that this process may use: DATABASE_POOL",
      registers,
    }),
    redisUp: new Gauge({
      name: "herald_redis_up",
      help: "1 while Redis answers this process, else 0",
      aggregator: "min",
      registers,
    }),
    redisWritable: new Gauge({
      name: "herald_redis_writable",
      help: "1 while Redis accepts the writes of this process, else 0",
      aggregator: "min",
      registers,
    }),
    breakers: new Gauge({
      name: "herald_breakers",
      help: "Destinations whose circuit breaker is not closed, by state",
      labelNames: ["state"],
      registers,
    }),
    cronRuns: new Counter({
      name: "herald_cron_runs_total",
      help: "Cron ticks finished in this process, by outcome",
      labelNames: ["job", "outcome"],
      registers,
    }),
    cronRunning: new Gauge({
      name: "herald_cron_running_seconds",
      help: "Seconds that the job has been running on any scheduler; 0 while it is not running",
      labelNames: ["job"],
      registers,
    }),
    cronLastSuccess: new Gauge({
      name: "herald_cron_last_success_timestamp_seconds",
      help: "Unix time of the job's last success on any scheduler, in seconds",
      labelNames: ["job"],
      registers,
    }),
    cronQuarantinedRows: new Gauge({
      name: "herald_cron_quarantined_rows",
      help: "Rows that the job no longer checks, because three schedulers died while they checked them",
      labelNames: ["job"],
      registers,
    }),
    ready: new Gauge({
      name: "herald_process_ready",
      help: "1 once all workers of the process have started, 0 before",
      registers,
    }),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

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
