import { runSteps, type Step } from "../src/runtime/async/run-steps.ts";
import { withTimeout } from "../src/runtime/async/with-timeout.ts";
import type { Config } from "../src/runtime/config/config.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../src/runtime/durations.ts";
import type { Log } from "../src/runtime/logging/log.ts";
import type { Worker } from "../src/runtime/supervise.ts";
import { databaseTime } from "../src/store/database/clock.ts";
import type { Database, Queryable } from "../src/store/database/database.ts";
import {
  createMissingPartitions,
  EVENT_TABLES,
  MESSAGE_TABLES,
  type PartitionGroup,
} from "../src/store/database/partitions.ts";

/** What is kept, and for how many days. */
const RETAINED_HISTORIES = {
  event: { history: EVENT_TABLES, days: "EVENT_RETENTION_DAYS" },
  message: { history: MESSAGE_TABLES, days: "MESSAGE_RETENTION_DAYS" },
} as const;

export type RetentionSettings = Pick<
  Config,
  (typeof RETAINED_HISTORIES)[keyof typeof RETAINED_HISTORIES]["days"]
>;

/** Each read may have to look into every partition, so there are never many more than this. */
const MAX_PARTITIONS = 60;

const partitionSpan = (days: number) => Math.ceil(days / MAX_PARTITIONS) * DAY;

/** The same for each of them, by the name of what it counts. */
export const partitionSteps = (
  settings: RetentionSettings,
  outcome: "made" | "dropped",
  work: (history: PartitionGroup, days: number) => Promise<number>,
): Record<string, Step> =>
  Object.fromEntries(
    Object.entries(RETAINED_HISTORIES).map(([name, { history, days }]) => [
      `${name}_partitions_${outcome}`,
      () => work(history, settings[days]),
    ]),
  );

export const createPartitionSteps = (
  settings: RetentionSettings,
  db: Database,
  now: number,
): Record<string, Step> =>
  partitionSteps(settings, "made", (history, days) =>
    createMissingPartitions(db, history, { now, spanMs: partitionSpan(days) }),
  );

export const createTablePartitions = (settings: RetentionSettings, db: Database, now: number) =>
  runSteps(createPartitionSteps(settings, db, now));

/** What is dropped is gone: of two clocks that differ the one that drops less is believed. */
export const conservativeNow = async (db: Queryable): Promise<number> =>
  Math.min(Date.now(), (await databaseTime(db)).getTime());

/** In milliseconds, after it went well and after it did not. */
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
 * Every process sees to it that there is room for what is to come, at its start and each hour: what has filled the
 * default partition is moved under a lock that nobody can record beside, so it must never get that far.
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
    // A database that hangs must not keep the process from starting.
    start: () => withTimeout(2 * SECOND, run(), () => {}),
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
