/** A longer time would be over at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const startTimeout = (callback: () => void, ms: number) => setTimeout(callback, Math.min(ms, MAX_TIMER_MS));

/** A signal that aborts after a time or when the caller's signal does. */
export interface Timer {
  signal: AbortSignal;
  /** Ends the time limit; the caller's signal stays connected, for a body that is still read. */
  clear(): void;
  /** Ends the time limit and disconnects the caller's signal. */
  stop(): void;
}

export function createTimer(timeoutMs: number, outer?: AbortSignal): Timer {
  const controller = new AbortController();
  const abort = () => controller.abort(outer?.reason);
  const timeout = startTimeout(() => controller.abort(), timeoutMs);
  const clear = () => clearTimeout(timeout);
  if (outer?.aborted) abort();
  outer?.addEventListener("abort", abort, { once: true });
  return {
    signal: controller.signal,
    clear,
    stop() {
      clear();
      outer?.removeEventListener("abort", abort);
    },
  };
}

/** Waits; rejects with the signal's reason when it aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timeout);
      reject(signal?.reason);
    };
    const timeout = startTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
