import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { withTimeout } from "../async/with-timeout.ts";
import { SECOND } from "../durations.ts";

/** Metrics as Prometheus reads them. */
export interface MetricsText {
  contentType: string;
  text(): Promise<string>;
}

/** Whoever reads them does not wait long for a database that hangs. */
const COLLECT_TIMEOUT_MS = 2 * SECOND;

/** What a process counts, all of it in one registry of its own. */
export function createMetrics(processName: string) {
  const registry = new Registry();
  registry.setDefaultLabels({ process: processName });
  const registers = [registry];
  const collectors: (() => Promise<void>)[] = [];
  return {
    contentType: registry.contentType,
    async text() {
      await Promise.all(
        collectors.map((collect) => withTimeout(COLLECT_TIMEOUT_MS, collect(), () => {}).catch(() => {})),
      );
      return registry.metrics();
    },
    /** What is not counted but looked up is, before each reading. What fails of it is not told. */
    addCollector: (collect: () => Promise<void>) => void collectors.push(collect),
    /** Memory, processor time, event-loop delay. Apart, because it starts timers. */
    collectProcess: () => collectDefaultMetrics({ register: registry }),
    registry,
    httpRequests: new Counter({
      name: "herald_http_requests_total",
      help: "Requests answered, by route pattern",
      labelNames: ["method", "route", "status"],
      registers,
    }),
    httpSeconds: new Histogram({
      name: "herald_http_request_duration_seconds",
      help: "Time from the request's head to the handing over of its answer",
      labelNames: ["method", "route"],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20],
      registers,
    }),
    platformUpdates: new Counter({
      name: "herald_platform_updates_total",
      help: "Updates in the platforms' webhooks, by what became of them",
      labelNames: ["object", "outcome"],
      registers,
    }),
    deliveries: new Counter({
      name: "herald_deliveries_total",
      help: "Deliveries of events that came to an end, by how",
      labelNames: ["state"],
      registers,
    }),
    attempts: new Counter({
      name: "herald_delivery_attempts_total",
      help: "Attempts to deliver an event, by outcome",
      labelNames: ["outcome"],
      registers,
    }),
    attemptSeconds: new Histogram({
      name: "herald_delivery_attempt_duration_seconds",
      help: "Time of an attempt, from the resolving of the name to the end of the answer",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
      registers,
    }),
    sends: new Counter({
      name: "herald_sends_total",
      help: "Attempts to send a message, by outcome",
      labelNames: ["platform", "outcome"],
      registers,
    }),
    sendSeconds: new Histogram({
      name: "herald_send_duration_seconds",
      help: "Time of an attempt to send a message",
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
      registers,
    }),
    slotsUsed: new Gauge({
      name: "herald_dispatcher_slots_used",
      help: "Calls that this dispatcher has open, of DISPATCHER_CONCURRENCY for events and as many for messages",
      labelNames: ["pool"],
      registers,
    }),
    queueDepth: new Gauge({
      name: "herald_queue_depth",
      help: "Entries in the stream, read or not",
      labelNames: ["stream"],
      registers,
    }),
    queueOldest: new Gauge({
      name: "herald_queue_oldest_due_seconds",
      help: "How long the oldest delivery has been due and not taken up; 0 when there is none",
      labelNames: ["stream"],
      registers,
    }),
    queueInFlight: new Gauge({
      name: "herald_queue_in_flight",
      help: "Deliveries in the hands of any dispatcher",
      labelNames: ["stream"],
      registers,
    }),
    breakers: new Gauge({
      name: "herald_breakers",
      help: "Destinations that are left alone for a while, or on trial",
      labelNames: ["state"],
      registers,
    }),
    cronRuns: new Counter({
      name: "herald_cron_runs_total",
      help: "Cron ticks that came to an end in this process, by outcome",
      labelNames: ["job", "outcome"],
      registers,
    }),
    cronRunning: new Gauge({
      name: "herald_cron_running_seconds",
      help: "How long the job has been running, on any scheduler; 0 while it does not",
      labelNames: ["job"],
      registers,
    }),
    cronLastSuccess: new Gauge({
      name: "herald_cron_last_success_timestamp_seconds",
      help: "When the job last ended well, on any scheduler",
      labelNames: ["job"],
      registers,
    }),
    ready: new Gauge({
      name: "herald_process_ready",
      help: "1 once all workers of the process have started",
      registers,
    }),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;
