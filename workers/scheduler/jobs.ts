import type { Config } from "../../src/runtime/config/config.ts";
import type { Job } from "./job.ts";
import { maintain } from "./maintenance.ts";
import type { ReportParts } from "./reports/check-batch.ts";
import { followReports } from "./reports/follow-reports.ts";
import { rollUpStats } from "./stats/roll-up-stats.ts";
import { checkTokens } from "./tokens/check-tokens.ts";
import type { CheckParts } from "./tokens/findings.ts";

/** No setting: the figures of the API are promised to be about a minute old at most. */
const STATS_SCHEDULE = "*/30 * * * * *";

/** The cron table. */
export const jobs = (config: Config, parts: CheckParts & ReportParts): Job[] => [
  { name: "tokens", expression: config.CRON_TOKENS, run: (tick) => checkTokens(parts, tick) },
  { name: "reports", expression: config.CRON_REPORTS, run: (tick) => followReports(parts, tick) },
  {
    name: "stats",
    expression: STATS_SCHEDULE,
    run: (tick) => rollUpStats({ ...parts, settings: config }, tick),
  },
  { name: "maintenance", expression: config.CRON_MAINTENANCE, run: () => maintain(config, parts.db) },
];
