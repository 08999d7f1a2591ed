import { pause } from "./pause.ts";

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
