import type { Config } from "../../src/runtime/config/config.ts";
import { DAY } from "../../src/runtime/durations.ts";
import { deleteExpiredStates } from "../../src/store/ads/oauth-states.ts";
import type { Database } from "../../src/store/database/database.ts";
import { deleteOldRuns } from "../../src/store/processes/cron-runs.ts";
import { deleteSilentWorkers } from "../../src/store/processes/workers.ts";
import { applyRetention } from "./retention.ts";

const TICK_RETENTION_MS = 30 * DAY;
const DEAD_WORKER_RETENTION_MS = 1 * DAY;

/** Deletes expired rows and those of deleted clients, creates the next partitions and drops old ones. */
export const maintain = async (config: Config, db: Database): Promise<Record<string, number>> => ({
  cron_runs_deleted: await deleteOldRuns(db, TICK_RETENTION_MS),
  workers_deleted: await deleteSilentWorkers(db, DEAD_WORKER_RETENTION_MS),
  oauth_states_deleted: await deleteExpiredStates(db),
  ...(await applyRetention(config, db)),
});
