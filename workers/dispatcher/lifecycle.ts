import { withTimeout } from "../../src/runtime/async/timeouts-and-retries.ts";
import {
  ABANDON_WRITES_AFTER_MS,
  ABORT_DELIVERIES_AFTER_MS,
  DISPATCHER_CLOSE_TIMEOUT_MS,
} from "../../src/runtime/deadlines.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import type { Log } from "../../src/runtime/log.ts";
import type { Worker } from "../../src/runtime/supervise.ts";

/**
 * The dispatcher claims from `start` to `close`. `close` makes it draining: nothing more is claimed, and calls in flight may
 * end; deliveries still open after ABORT_DELIVERIES_AFTER_MS are aborted, outcomes unwritten after ABANDON_WRITES_AFTER_MS
 * are abandoned. It is closed when nothing is in flight, or after DISPATCHER_CLOSE_TIMEOUT_MS.
 */

/** The deliveries or the sends in flight in this process. */
export interface InFlight {
  count(): number;
  /** Starts no further calls from now on. */
  stop(): void;
  /** Resolves when nothing is in flight. */
  drain(): Promise<void>;
  /** Aborts the open calls that may be repeated. */
  abort(): void;
  /** Stops waiting for outcomes to be written: other workers recover the rows when the leases expire. */
  abandonWrites(): void;
}

interface DispatcherParts {
  inFlight: readonly InFlight[];
  /** Claim loops, recovery and checks, which start and close with the dispatcher. */
  backgroundWorkers: readonly Worker[];
  log: Log;
}

/** A background worker may hang in a query. What it may have claimed meanwhile, another dispatcher recovers. */
const BACKGROUND_CLOSE_TIMEOUT_MS = 2 * SECOND;

export function dispatcher({ inFlight, backgroundWorkers, log }: DispatcherParts): Worker {
  const callEach = (method: "stop" | "abort" | "abandonWrites") => () => {
    for (const group of inFlight) group[method]();
  };
  const countInFlight = () => inFlight.reduce((sum, group) => sum + group.count(), 0);
  return {
    name: "dispatcher",
    async start(lifecycle) {
      for (const worker of backgroundWorkers) await worker.start?.(lifecycle);
    },
    async close() {
      callEach("stop")();
      const began = performance.now();
      const countAtStop = countInFlight();
      const timers = [
        setTimeout(callEach("abort"), ABORT_DELIVERIES_AFTER_MS),
        setTimeout(callEach("abandonWrites"), ABANDON_WRITES_AFTER_MS),
      ];
      const closing = backgroundWorkers.map(async (worker) =>
        withTimeout(BACKGROUND_CLOSE_TIMEOUT_MS, Promise.resolve(worker.close?.()), () => {}),
      );
      const drained = Promise.all(closing).then(() => Promise.all(inFlight.map((group) => group.drain())));
      await withTimeout(DISPATCHER_CLOSE_TIMEOUT_MS, drained, () => {});
      for (const timer of timers) clearTimeout(timer);
      const ms = Math.round(performance.now() - began);
      log.info("dispatcher.drained", { in_flight: countAtStop, left: countInFlight(), ms });
    },
  };
}
