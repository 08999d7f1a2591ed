import { doEach, type Step } from "../src/runtime/async/run-steps.ts";
import { within } from "../src/runtime/async/with-timeout.ts";
import type { Config } from "../src/runtime/config/config.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../src/runtime/durations.ts";
import type { Log } from "../src/runtime/logging/log.ts";
import type { Worker } from "../src/runtime/supervise.ts";
import { databaseTime } from "../src/store/database/clock.ts";
import type { Database, Queryable } from "../src/store/database/database.ts";
import {
  EVENT_HISTORY,
  type History,
  MESSAGE_HISTORY,
  makePartitions,
} from "../src/store/database/partitions.ts";

/** What is kept, and for how many days. */
const HISTORIES = {
  event: { history: EVENT_HISTORY, days: "EVENT_RETENTION_DAYS" },
  message: { history: MESSAGE_HISTORY, days: "MESSAGE_RETENTION_DAYS" },
} as const;

export type HistorySettings = Pick<Config, (typeof HISTORIES)[keyof typeof HISTORIES]["days"]>;

/** Each read may have to look into every partition, so there are never many more than this. */
const MOST_PARTITIONS = 60;

const spanOf = (days: number) => Math.ceil(days / MOST_PARTITIONS) * DAY;

/** The same for each of them, by the name of what it counts. */
export const historySteps = (
  settings: HistorySettings,
  outcome: "made" | "dropped",
  work: (history: History, days: number) => Promise<number>,
): Record<string, Step> =>
  Object.fromEntries(
    Object.entries(HISTORIES).map(([name, { history, days }]) => [
      `${name}_partitions_${outcome}`,
      () => work(history, settings[days]),
    ]),
  );

export const roomSteps = (settings: HistorySettings, db: Database, now: number): Record<string, Step> =>
  historySteps(settings, "made", (history, days) => makePartitions(db, history, { now, span: spanOf(days) }));

export const makeRoom = (settings: HistorySettings, db: Database, now: number) =>
  doEach(roomSteps(settings, db, now));

/** What is dropped is gone: of two clocks that differ the one that drops less is believed. */
export const historyClock = async (db: Queryable): Promise<number> =>
  Math.min(Date.now(), (await databaseTime(db)).getTime());

/** In milliseconds, after it went well and after it did not. */
interface Pauses {
  again: number;
  retry: number;
}

const USUAL: Pauses = { again: 1 * HOUR, retry: 1 * MINUTE };

interface RoomParts {
  settings: HistorySettings;
  db: Database;
  log: Log;
  pauses?: Pauses;
}

/**
 * Every process sees to it that there is room for what is to come, at its start and each hour: what has filled the
 * default partition is moved under a lock that nobody can record beside, so it must never get that far.
 */
export function historyRoom({ settings, db, log, pauses = USUAL }: RoomParts): Worker {
  let timer: NodeJS.Timeout | undefined;
  let making: Promise<void> = Promise.resolve();
  let closed = false;

  async function make(): Promise<void> {
    let pause = pauses.again;
    try {
      await makeRoom(settings, db, await historyClock(db));
    } catch (error) {
      log.warn("history.no_room_made", { err: error });
      pause = pauses.retry;
    }
    if (!closed) timer = setTimeout(again, pause);
  }

  const again = () => {
    making = make();
    return making;
  };

  return {
    name: "history-room",
    // A database that hangs must not keep the process from starting.
    start: () => within(2 * SECOND, again(), () => {}),
    async close() {
      closed = true;
      clearTimeout(timer);
      await making;
    },
  };
}
