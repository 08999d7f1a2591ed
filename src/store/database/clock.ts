import { pause, withTimeout } from "../../runtime/async/timeouts-and-retries.ts";
import { MAX_CLOCK_DIFFERENCE_MS } from "../../runtime/deadlines.ts";
import { MINUTE, SECOND } from "../../runtime/durations.ts";
import { setIdClockOffset } from "../../runtime/ids.ts";
import type { Log } from "../../runtime/log.ts";
import type { Worker } from "../../runtime/supervise.ts";
import { type Database, databaseTime, type Queryable } from "./database.ts";

/**
 * Returns how many milliseconds the clock of Postgres is ahead of this process's. The time of the request itself does not
 * count: 0 when the answer fits into it.
 */
export async function measureClock(db: Queryable): Promise<number> {
  const sentAt = Date.now();
  const time = (await databaseTime(db)).getTime();
  return time - Math.min(Math.max(time, sentAt), Date.now());
}

/** Makes new ids with the time of Postgres if the clocks differ too much. Returns the milliseconds between them. */
export async function adjustIdClock(db: Queryable): Promise<number> {
  const difference = await measureClock(db);
  setIdClockOffset(Math.abs(difference) > MAX_CLOCK_DIFFERENCE_MS ? difference : 0);
  return difference;
}

const CHECK_INTERVAL_MS = 1 * MINUTE;
/** While Postgres is not available. */
const RETRY_INTERVAL_MS = 1 * SECOND;
/** A process may start before Postgres. */
const START_TIMEOUT_MS = 2 * SECOND;

/** Compares the clocks at the start and once a minute. Logs when they begin and cease to differ too much. */
export function createClockCheck({ db, log }: { db: Database; log: Log }): Worker {
  const closing = new AbortController();
  const { signal } = closing;
  let differs = false;

  async function check(): Promise<void> {
    const difference = await adjustIdClock(db);
    if (signal.aborted) return;
    const differed = differs;
    differs = Math.abs(difference) > MAX_CLOCK_DIFFERENCE_MS;
    if (differs && !differed) log.warn("clock.differs", { ms: difference });
    if (differed && !differs) log.info("clock.agrees", { ms: difference });
  }

  async function checkUntilClosed(first: Promise<boolean>): Promise<void> {
    for (let succeeded = await first; !signal.aborted; ) {
      await pause(succeeded ? CHECK_INTERVAL_MS : RETRY_INTERVAL_MS, signal);
      if (!signal.aborted) succeeded = await tryCheck();
    }
  }

  const tryCheck = (): Promise<boolean> =>
    check().then(
      () => true,
      () => false,
    );

  return {
    name: "clock-check",
    async start() {
      const first = tryCheck();
      checkUntilClosed(first);
      await withTimeout(START_TIMEOUT_MS, first, () => false);
    },
    // A check that hangs is not awaited: it writes nothing.
    close: () => closing.abort(),
  };
}
