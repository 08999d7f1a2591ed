import { runSteps, type Step } from "../src/runtime/async/iteration.ts";
import { withTimeout } from "../src/runtime/async/timeouts-and-retries.ts";
import type { Config } from "../src/runtime/config/config.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../src/runtime/durations.ts";
import type { Log } from "../src/runtime/log.ts";
import type { Worker } from "../src/runtime/supervise.ts";
import type { Database, Queryable } from "../src/store/database/database.ts";
import { databaseTime } from "../src/store/database/database.ts";
import { refusePrereleaseDatabase } from "../src/store/database/migrations.ts";
import {
  createMissingPartitions,
  EVENT_TABLES,
  MESSAGE_TABLES,
  type PartitionGroup,
} from "../src/store/database/partitions.ts";

/** Partitioned tables, and the setting with the days for which each group is kept. */
const RETAINED_HISTORIES = {
  event: { history: EVENT_TABLES, days: "EVENT_RETENTION_DAYS" },
  message: { history: MESSAGE_TABLES, days: "MESSAGE_RETENTION_DAYS" },
} as const;

export type RetentionSettings = Pick<
  Config,
  (typeof RETAINED_HISTORIES)[keyof typeof RETAINED_HISTORIES]["days"]
>;

/** Bounds the number of partitions roughly, because a read may have to search all of them. */
const MAX_PARTITIONS = 60;

const partitionSpan = (days: number) => Math.ceil(days / MAX_PARTITIONS) * DAY;

/** Rows accepted before this time (milliseconds since 1970) are deleted, apart from those that are still needed. */
export const oldestRowTime = (
  settings: RetentionSettings,
  group: keyof typeof RETAINED_HISTORIES,
  now: number,
): number => {
  const days = settings[RETAINED_HISTORIES[group].days];
  return now - days * DAY - partitionSpan(days);
};

/** Returns the same step for each group of tables, under the name of its count: `outcome` after that of the group. */
export const partitionSteps = (
  settings: RetentionSettings,
  outcome: "partitions_made" | "partitions_dropped" | "rows",
  work: (history: PartitionGroup, days: number) => ReturnType<Step>,
): Record<string, Step> =>
  Object.fromEntries(
    Object.entries(RETAINED_HISTORIES).map(([name, { history, days }]) => [
      `${name}_${outcome}`,
      () => work(history, settings[days]),
    ]),
  );

export const createPartitionSteps = (
  settings: RetentionSettings,
  db: Database,
  now: number,
): Record<string, Step> =>
  partitionSteps(settings, "partitions_made", (history, days) =>
    createMissingPartitions(db, history, { now, spanMs: partitionSpan(days) }),
  );

export const createTablePartitions = (settings: RetentionSettings, db: Database, now: number) =>
  runSteps(createPartitionSteps(settings, db, now));

/** Returns the earlier of the two clocks, because dropped data cannot be restored. */
export const conservativeNow = async (db: Queryable): Promise<number> =>
  Math.min(Date.now(), (await databaseTime(db)).getTime());

/** Milliseconds until the next run after a success and after a failure. */
interface RepeatDelays {
  intervalMs: number;
  retryMs: number;
}

const DEFAULT_DELAYS_MS: RepeatDelays = { intervalMs: 1 * HOUR, retryMs: 1 * MINUTE };

interface TablePartitionsParts {
  settings: RetentionSettings;
  db: Database;
  log: Log;
  delays?: RepeatDelays;
}

/**
 * Creates the next partitions: in every process, at its start, then hourly, or after a minute when that failed, until
 * `close`. Rows that went into the default partition are moved under a lock that blocks inserts, so it must stay empty.
 */
export function tablePartitions({
  settings,
  db,
  log,
  delays = DEFAULT_DELAYS_MS,
}: TablePartitionsParts): Worker {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let isClosed = false;

  async function createAndReschedule(): Promise<void> {
    let delay = delays.intervalMs;
    try {
      await refusePrereleaseDatabase(db);
      await createTablePartitions(settings, db, await conservativeNow(db));
    } catch (error) {
      log.warn("partitions.create_failed", { err: error });
      delay = delays.retryMs;
    }
    if (!isClosed) timer = setTimeout(run, delay);
  }

  const run = () => {
    running = createAndReschedule();
    return running;
  };

  return {
    name: "table-partitions",
    // A hanging database must not keep the process from starting.
    start: () => withTimeout(2 * SECOND, run(), () => {}),
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
