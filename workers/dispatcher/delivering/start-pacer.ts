import { withTimeout } from "../../../src/runtime/async/with-timeout.ts";

/** Calls that start in one turn of the event loop; in between it handles the answers that have come. */
const STARTS_PER_TURN = 2;
/** A slower turn means that the process has more to do than it can, and that answers are handled late. */
const SLOW_TURN_MS = 10;
/** Open calls of a process that is too busy, unless none of them ends within BUSY_WAIT_MS. */
const MAX_CALLS_WHEN_BUSY = 8;
const BUSY_WAIT_MS = 20;

export interface StartPacer {
  /** What the call with this index in its batch waits for, while the process may be too busy for it. */
  waitForTurn(index: number): Promise<void> | undefined;
  /** Counts a call as open until it ends. */
  track<T>(call: Promise<T>): Promise<T>;
}

export function createStartPacer(): StartPacer {
  const openCalls = new Set<Promise<unknown>>();

  async function endTurn(): Promise<void> {
    if ((await yieldToEventLoop()) > SLOW_TURN_MS && openCalls.size > MAX_CALLS_WHEN_BUSY)
      await withTimeout(BUSY_WAIT_MS, Promise.race(openCalls), () => {});
  }

  return {
    waitForTurn: (index) => (index % STARTS_PER_TURN === STARTS_PER_TURN - 1 ? endTurn() : undefined),
    track(call) {
      openCalls.add(call);
      return call.finally(() => openCalls.delete(call));
    },
  };
}

/** Returns how many milliseconds the turn took. */
async function yieldToEventLoop(): Promise<number> {
  const began = performance.now();
  await new Promise<void>((resolve) => setImmediate(resolve));
  return performance.now() - began;
}
