import type { DependencyContainer } from "tsyringe";
import { heartbeat } from "../../workers/heartbeat.ts";
import type { CheckParts } from "../../workers/scheduler/check-connection.ts";
import { checkTokens } from "../../workers/scheduler/check-tokens.ts";
import { cron, type Job, setCronGauges } from "../../workers/scheduler/cron.ts";
import { followReports, type ReportParts } from "../../workers/scheduler/follow-reports.ts";
import { maintain } from "../../workers/scheduler/maintenance.ts";
import { rollUpStats } from "../../workers/scheduler/roll-up-stats.ts";
import type { Config } from "../runtime/config/config.ts";
import { newId } from "../runtime/ids.ts";
import type { Worker } from "../runtime/supervise.ts";
import type { JobName } from "../schema/enumerations.ts";
import { createPrereleaseCheck } from "../store/database/migrations.ts";
import { registerPlatforms, SHARED_TOKENS, sharedWorkers } from "./process.ts";
import { PLATFORMS, provide, resolveAll, WORKERS } from "./tokens.ts";

export function registerScheduler(container: DependencyContainer): void {
  registerPlatforms(container, { isBackground: true });
  provide(container, WORKERS, schedulerWorkers);
}

/** The workers of a scheduler in start order. */
function schedulerWorkers(container: DependencyContainer): Worker[] {
  const parts = resolveAll(container, { ...SHARED_TOKENS, platforms: PLATFORMS });
  const { config, db, log, metrics, platforms, secretBox } = parts;
  const { tracker } = parts.watchdog;
  const id = newId("wrk");
  const jobs = cronTable(config, { db, secretBox, ads: platforms.ads, log, tracker, now: Date.now });
  metrics.addCollector(() => setCronGauges({ db, jobs, metrics }));
  return [
    ...sharedWorkers(parts),
    createPrereleaseCheck(db),
    { name: "platforms", close: platforms.close },
    heartbeat({ id, process: "scheduler", db, log }),
    cron({ id, jobs, db, log, metrics, tracker }),
  ];
}

/** No setting: the figures of the API are promised to be about a minute old at most. */
const STATS_SCHEDULE = "*/30 * * * * *";

/** The cron table. */
export const cronTable = (
  config: Config,
  parts: CheckParts & ReportParts,
): readonly (Job & { name: JobName })[] => [
  { name: "tokens", expression: config.CRON_TOKENS, run: (tick) => checkTokens(parts, tick) },
  { name: "reports", expression: config.CRON_REPORTS, run: (tick) => followReports(parts, tick) },
  {
    name: "stats",
    expression: STATS_SCHEDULE,
    run: (tick) => rollUpStats({ ...parts, settings: config }, tick),
  },
  { name: "maintenance", expression: config.CRON_MAINTENANCE, run: (tick) => maintain(config, parts, tick) },
];
