import type { Metrics } from "../../src/runtime/metrics/metrics.ts";
import type { Database } from "../../src/store/database/database.ts";
import { readCronMetrics } from "../../src/store/processes/cron-runs.ts";
import type { Job } from "./job.ts";

interface GaugeParts {
  db: Database;
  jobs: readonly Job[];
  metrics: Metrics;
}

/** Sets the gauges. Each scheduler reports the runs of all schedulers. */
export async function setCronGauges({ db, jobs, metrics }: GaugeParts): Promise<void> {
  // Reset before the query: when it fails, values from before the outage must not look current.
  for (const gauge of [metrics.cronRunning, metrics.cronLastSuccess]) gauge.reset();
  const names = jobs.map(({ name }) => name);
  for (const { job, runningFor, lastSuccess } of await readCronMetrics(db, names)) {
    metrics.cronRunning.set({ job }, runningFor);
    if (lastSuccess !== null) metrics.cronLastSuccess.set({ job }, lastSuccess);
  }
}
