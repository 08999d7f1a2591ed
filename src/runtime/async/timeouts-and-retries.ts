/** Waits; resolves early when the signal aborts. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
  });
}

/** Returns the promise's outcome, or that of `onTimeout` after the timeout. The promise is not cancelled, only ignored. */
export async function withTimeout<T, L>(
  milliseconds: number,
  promise: Promise<T>,
  onTimeout: () => L,
): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<L>((resolve, reject) => {
    timer = setTimeout(() => {
      try {
        resolve(onTimeout());
      } catch (error) {
        reject(error);
      }
    }, milliseconds);
  });
  promise.catch(() => {}); // a rejection after the timeout must not be unhandled
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

const callbacksBySignal = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal aborts; returns a function that cancels this. A signal has one listener for all its callbacks,
 * because removing a listener takes time in proportion to their number.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = callbacksBySignal.get(signal) ?? listenForAbort(signal);
  callbacks.add(callback);
  return () => void callbacks.delete(callback);
}

function listenForAbort(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>();
  callbacksBySignal.set(signal, callbacks);
  const callAll = () => {
    for (const callback of callbacks) callback();
  };
  signal.addEventListener("abort", callAll, { once: true });
  return callbacks;
}

interface RetryOptions {
  signal: AbortSignal;
  /** Milliseconds before the first retry; doubled for each further retry up to `maxDelayMs`. */
  firstDelayMs: number;
  maxDelayMs: number;
  onFault?(error: unknown): void;
}

/** Retries with exponential backoff until success; undefined when the signal aborts first. */
export async function retryUntil<T>(
  work: () => Promise<T>,
  { signal, firstDelayMs, maxDelayMs, onFault }: RetryOptions,
): Promise<T | undefined> {
  for (let delay = firstDelayMs; !signal.aborted; delay = Math.min(delay * 2, maxDelayMs)) {
    try {
      return await work();
    } catch (error) {
      onFault?.(error);
      await pause(delay, signal);
    }
  }
  return undefined;
}

const DEFAULT_JITTER_RATIO = 0.2;

/** Varies a delay by up to `ratio` in both directions, so that calls that failed together are not retried together. */
export const jittered = (delayMs: number, ratio = DEFAULT_JITTER_RATIO, random = Math.random): number =>
  delayMs * (1 - ratio + 2 * ratio * random());
