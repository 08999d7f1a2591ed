import type { Config } from "../../src/runtime/config/config.ts";
import type { Job } from "./job.ts";
import { maintain } from "./maintenance.ts";
import { checkTokens } from "./tokens/check-tokens.ts";
import type { CheckParts } from "./tokens/findings.ts";

/** The cron table. */
export const jobs = (config: Config, parts: CheckParts): Job[] => [
  { name: "tokens", expression: config.CRON_TOKENS, run: (tick) => checkTokens(parts, tick) },
  { name: "maintenance", expression: config.CRON_MAINTENANCE, run: () => maintain(config, parts.db) },
];
