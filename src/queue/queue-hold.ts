import { repeat } from "../runtime/async/repeat.ts";
import { SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/logging/log.ts";
import type { Worker } from "../runtime/supervise.ts";
import type { Queryable } from "../store/database/database.ts";
import { readQueueHold } from "../store/processes/queue-hold.ts";

/**
 * A dispatcher's view of the hold, which an operator sets in Postgres. It is released until a check finds the hold, and
 * held until a check finds it gone; each change is logged. While Postgres is unavailable the last state stays.
 */
export interface QueueHold {
  /** The state at the last check. */
  isHeld(): boolean;
  /** Reads the hold from Postgres; true while the queue is held. */
  check(): Promise<boolean>;
  /** Resolves when the queue is not held, or when the signal aborts. */
  waitForRelease(signal: AbortSignal): Promise<void>;
}

const CHECK_INTERVAL_MS = 1 * SECOND;

export function createQueueHold({ db, log }: { db: Queryable; log: Log }): QueueHold & Worker {
  let isHeld = false;
  const waiters = new Set<() => void>();

  async function check(): Promise<boolean> {
    const { held, since } = await readQueueHold(db);
    if (held === isHeld) return held;
    isHeld = held;
    if (held) log.warn("queue.held", { since });
    else log.info("queue.released");
    if (!held) for (const wake of [...waiters]) wake();
    return held;
  }

  const waitForRelease = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (!isHeld || signal.aborted) return resolve();
      const end = () => {
        waiters.delete(end);
        signal.removeEventListener("abort", end);
        resolve();
      };
      waiters.add(end);
      signal.addEventListener("abort", end);
    });

  const checkLoop = repeat({
    name: "hold_check",
    intervalMs: CHECK_INTERVAL_MS,
    work: async () => void (await check()),
    log,
  });
  return { ...checkLoop, isHeld: () => isHeld, check, waitForRelease };
}
