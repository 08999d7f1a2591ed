import type { DependencyContainer } from "tsyringe";
import { heartbeat } from "../../workers/heartbeat.ts";
import { cron, type Job, setCronGauges } from "../../workers/scheduler/cron.ts";
import { followReports, type ReportParts } from "../../workers/scheduler/follow-reports.ts";
import { maintain } from "../../workers/scheduler/maintenance.ts";
import { rollUpStats } from "../../workers/scheduler/roll-up-stats.ts";
import type { CheckParts } from "../../workers/scheduler/tokens/check-connection.ts";
import { checkTokens } from "../../workers/scheduler/tokens/check-tokens.ts";
import type { Config } from "../runtime/config/config.ts";
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

/** No setting: the figures of the API are promised to be about a minute old at most. */
const STATS_SCHEDULE = "*/30 * * * * *";

/** The cron table. */
const cronTable = (config: Config, parts: CheckParts & ReportParts): Job[] => [
  { name: "tokens", expression: config.CRON_TOKENS, run: (tick) => checkTokens(parts, tick) },
  { name: "reports", expression: config.CRON_REPORTS, run: (tick) => followReports(parts, tick) },
  {
    name: "stats",
    expression: STATS_SCHEDULE,
    run: (tick) => rollUpStats({ ...parts, settings: config }, tick),
  },
  { name: "maintenance", expression: config.CRON_MAINTENANCE, run: () => maintain(config, parts.db) },
];

function schedulerWorkers(c: DependencyContainer): Worker[] {
  const [db, log, metrics] = [resolve(c, DATABASE), resolve(c, LOG), resolve(c, METRICS)];
  const id = newId("wrk");
  const { ads } = resolve(c, PLATFORMS);
  const { tracker } = resolve(c, WATCHDOG);
  const parts = { db, secretBox: resolve(c, SECRET_BOX), ads, log, tracker, now: Date.now };
  const jobs = cronTable(resolve(c, CONFIG), parts);
  metrics.addCollector(() => setCronGauges({ db, jobs, metrics }));
  return [
    platformConnections(c),
    heartbeat({ id, process: "scheduler", db, log }),
    cron({ id, jobs, db, log, metrics, tracker }),
  ];
}
