import type { DependencyContainer } from "tsyringe";
import { heartbeat } from "../../workers/heartbeat.ts";
import { cron } from "../../workers/scheduler/cron.ts";
import { setCronGauges } from "../../workers/scheduler/gauges.ts";
import { jobs } from "../../workers/scheduler/jobs.ts";
import { newId } from "../runtime/ids.ts";
import type { Worker } from "../runtime/supervise.ts";
import { platformConnections, registerPlatforms } from "./platforms.ts";
import { sharedWorkers } from "./shared.ts";
import {
  CONFIG,
  DATABASE,
  LOG,
  METRICS,
  PLATFORMS,
  provide,
  resolve,
  SECRET_BOX,
  WATCHDOG,
  WORKERS,
} from "./tokens.ts";

export function registerScheduler(container: DependencyContainer): void {
  registerPlatforms(container, { isBackground: true });
  provide(container, WORKERS, (c) => [...sharedWorkers(c), ...schedulerWorkers(c)]);
}

function schedulerWorkers(c: DependencyContainer): Worker[] {
  const [db, log, metrics] = [resolve(c, DATABASE), resolve(c, LOG), resolve(c, METRICS)];
  const id = newId("wrk");
  const { ads } = resolve(c, PLATFORMS);
  const { tracker } = resolve(c, WATCHDOG);
  const parts = { db, secretBox: resolve(c, SECRET_BOX), ads, log, tracker, now: Date.now };
  const cronJobs = jobs(resolve(c, CONFIG), parts);
  const heartbeatWorker = heartbeat({ id, process: "scheduler", db, log });
  metrics.addCollector(() => setCronGauges({ db, jobs: cronJobs, metrics }));
  return [
    platformConnections(c),
    heartbeatWorker,
    cron({ id, jobs: cronJobs, db, log, metrics, tracker, aliveForMs: heartbeatWorker.aliveForMs }),
  ];
}
