import type { Config } from "../../src/runtime/config/config.ts";
import { DAY } from "../../src/runtime/durations.ts";
import { forgetStates } from "../../src/store/ads/oauth-states.ts";
import type { Database } from "../../src/store/database/database.ts";
import { forgetOldTicks } from "../../src/store/processes/cron-runs.ts";
import { forgetSilentWorkers } from "../../src/store/processes/workers.ts";
import { keepHistory } from "./partitions.ts";

const TICKS_KEPT = 30 * DAY;
const SILENT_WORKERS_KEPT = 1 * DAY;

/** Forgets what nobody needs any more, and sees to the histories. */
export const maintain = async (config: Config, db: Database): Promise<Record<string, number>> => ({
  ticks_forgotten: await forgetOldTicks(db, TICKS_KEPT),
  workers_forgotten: await forgetSilentWorkers(db, SILENT_WORKERS_KEPT),
  oauth_states_forgotten: await forgetStates(db),
  ...(await keepHistory(config, db)),
});
