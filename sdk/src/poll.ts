import { WaitTimeoutError } from "./errors.ts";
import { createTimer, sleep } from "./timers.ts";

export interface WaitOptions {
  /** Ends the wait; the promise is rejected with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Maximum time to wait. */
  timeoutMs?: number | undefined;
}

interface Poll<T> {
  /** What is waited for, for the error. */
  what: string;
  read: (signal: AbortSignal) => Promise<T>;
  /** Throws when the end can no longer be reached. */
  isDone: (value: T) => boolean;
  timeoutMs: number;
  /** The time before the second read; it grows by half with each. */
  firstIntervalMs: number;
  maxIntervalMs: number;
  signal: AbortSignal | undefined;
}

/** Reads with growing intervals until the value is done. */
export async function poll<T>(options: Poll<T>): Promise<T> {
  const { what, read, isDone, timeoutMs, firstIntervalMs, maxIntervalMs, signal } = options;
  const timer = createTimer(timeoutMs, signal);
  try {
    for (let intervalMs = firstIntervalMs; ; intervalMs = Math.min(intervalMs * 1.5, maxIntervalMs)) {
      const value = await read(timer.signal);
      if (isDone(value)) return value;
      await sleep(intervalMs, timer.signal);
    }
  } catch (error) {
    if (error !== timer.signal.reason || signal?.aborted) throw error;
    throw new WaitTimeoutError(`${what}: not reached within ${timeoutMs} ms`);
  } finally {
    timer.stop();
  }
}
