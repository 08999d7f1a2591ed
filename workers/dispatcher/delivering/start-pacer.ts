import { withTimeout } from "../../../src/runtime/async/with-timeout.ts";

/**
 * Paces the starts of calls. After every STARTS_PER_TURN of a batch it yields to the event loop and times that turn.
 * When the turn was slow, the process is busy: with too many open calls, the next start waits for one to end.
 */

/** Calls that start in one turn of the event loop, which handles received answers in between. */
const STARTS_PER_TURN = 2;
/** A slower turn means that the process is overloaded and handles answers late. */
const SLOW_TURN_MS = 10;
/** With more open calls a busy process waits until one ends, at most BUSY_WAIT_MS. */
const MAX_CALLS_WHEN_BUSY = 8;
const BUSY_WAIT_MS = 20;

export interface StartPacer {
  /** Resolves when the call with this index in its batch may start; undefined when it may start immediately. */
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
