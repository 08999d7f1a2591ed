import { SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/log.ts";
import { repeat, type Worker } from "../runtime/supervise.ts";
import type { Queryable } from "../store/database/database.ts";
import { readQueueHold } from "../store/processes/queue-hold.ts";

/**
 * A dispatcher's view of the queue hold, which an operator sets in Postgres. It is released until a check finds the hold, and
 * held until a check finds it gone; each change is logged. While Postgres is unavailable the last state stays.
 */
export interface QueueHold {
  /** The state at the last check. */
  isHeld(): boolean;
}

const CHECK_INTERVAL_MS = 1 * SECOND;

export function createQueueHold({ db, log }: { db: Queryable; log: Log }): QueueHold & Worker {
  let isHeld = false;

  async function check(): Promise<void> {
    const { held, ...hold } = await readQueueHold(db);
    if (held === isHeld) return;
    isHeld = held;
    if (held) log.warn("queue.held", hold);
    else log.info("queue.released");
  }

  const checkLoop = repeat({ name: "hold_check", intervalMs: CHECK_INTERVAL_MS, work: check, log });
  return { ...checkLoop, isHeld: () => isHeld };
}
