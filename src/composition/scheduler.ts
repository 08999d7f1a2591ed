import type { DependencyContainer } from "tsyringe";
import { cron } from "../../workers/scheduler/cron.ts";
import { jobs } from "../../workers/scheduler/jobs.ts";
import { newId } from "../runtime/ids.ts";
import { sharedWorkers } from "./shared.ts";
import { CONFIG, DATABASE, LOG, METRICS, provide, resolve, WORKERS } from "./tokens.ts";

export function registerScheduler(container: DependencyContainer): void {
  provide(container, WORKERS, (c) => {
    const [db, log, metrics] = [resolve(c, DATABASE), resolve(c, LOG), resolve(c, METRICS)];
    const config = resolve(c, CONFIG);
    return [...sharedWorkers(c), cron({ id: newId("wrk"), jobs: jobs(config, db), db, log, metrics })];
  });
}
