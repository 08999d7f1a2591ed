import type { Config } from "../../src/runtime/config.ts";
import { DAY } from "../../src/runtime/durations.ts";
import { forgetOldTicks } from "../../src/store/cron-runs.ts";
import type { Database } from "../../src/store/database.ts";
import { forgetSilentWorkers } from "../../src/store/workers.ts";
import { keepHistory } from "./history.ts";

export interface JobTick {
  /** The time it was due, also when it is done again after somebody died over it. */
  scheduledAt: Date;
  /** Comes when the process has to end. A run that stops early for it throws; another scheduler does it again from the start. */
  signal: AbortSignal;
}

/** One line of the cron table. What `run` answers goes into its log line; it must be safe to run again, finished or not. */
export interface Job {
  name: string;
  expression: string;
  run(tick: JobTick): Promise<Record<string, number>>;
}

const TICKS_KEPT = 30 * DAY;
const SILENT_WORKERS_KEPT = 1 * DAY;

/** The cron table. */
export function jobs(config: Config, db: Database): Job[] {
  return [
    {
      name: "maintenance",
      expression: config.CRON_MAINTENANCE,
      run: async () => ({
        ticks_forgotten: await forgetOldTicks(db, TICKS_KEPT),
        workers_forgotten: await forgetSilentWorkers(db, SILENT_WORKERS_KEPT),
        ...(await keepHistory(config, db)),
      }),
    },
  ];
}
