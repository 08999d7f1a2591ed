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

interface Persistence {
  signal: AbortSignal;
  /** Milliseconds before the first repetition, doubled for each further one up to the most. */
  first: number;
  most: number;
  onFault?(error: unknown): void;
}

/** Does it again until it succeeds; undefined when the signal came first. */
export async function persist<T>(
  work: () => Promise<T>,
  { signal, first, most, onFault }: Persistence,
): Promise<T | undefined> {
  for (let delay = first; !signal.aborted; delay = Math.min(delay * 2, most)) {
    try {
      return await work();
    } catch (error) {
      onFault?.(error);
      await pause(delay, signal);
    }
  }
  return undefined;
}
