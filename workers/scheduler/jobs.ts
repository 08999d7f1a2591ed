import type { Config } from "../../src/runtime/config/config.ts";
import type { Job } from "./job.ts";
import { maintain } from "./maintenance.ts";
import type { ReportParts } from "./reports/check-batch.ts";
import { followReports } from "./reports/follow-reports.ts";
import { checkTokens } from "./tokens/check-tokens.ts";
import type { CheckParts } from "./tokens/findings.ts";

/** The cron table. */
export const jobs = (config: Config, parts: CheckParts & ReportParts): Job[] => [
  { name: "tokens", expression: config.CRON_TOKENS, run: (tick) => checkTokens(parts, tick) },
  { name: "reports", expression: config.CRON_REPORTS, run: (tick) => followReports(parts, tick) },
  { name: "maintenance", expression: config.CRON_MAINTENANCE, run: () => maintain(config, parts.db) },
];
