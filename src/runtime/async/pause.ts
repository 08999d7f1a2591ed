/** Waits; ends early, without a fault, when the signal comes. */
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

interface RetryOptions {
  signal: AbortSignal;
  /** Milliseconds before the first repetition, doubled for each further one up to the most. */
  firstDelayMs: number;
  maxDelayMs: number;
  onFault?(error: unknown): void;
}

/** Does it again until it succeeds; undefined when the signal came first. */
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
