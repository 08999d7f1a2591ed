import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** Metrics as Prometheus reads them. */
export interface MetricsText {
  contentType: string;
  text(): Promise<string>;
}

/** What a process counts, all of it in one registry of its own. */
export function createMetrics(processName: string) {
  const registry = new Registry();
  registry.setDefaultLabels({ process: processName });
  const registers = [registry];
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
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
    cronRuns: new Counter({
      name: "herald_cron_runs_total",
      help: "Cron ticks that this process ran, by outcome",
      labelNames: ["job", "outcome"],
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
