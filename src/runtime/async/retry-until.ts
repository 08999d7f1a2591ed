import { pause } from "./pause.ts";

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
