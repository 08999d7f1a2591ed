import { setTimeout as sleep } from "node:timers/promises";

/**
 * Starts work at a constant rate, whether or not earlier work has ended. Resolves with all results when the last one is
 * there.
 */
export async function atRate<T>(
  { perSecond, count }: { perSecond: number; count: number },
  work: (index: number) => Promise<T>,
): Promise<T[]> {
  const startedAt = performance.now();
  const results: Promise<T>[] = [];
  for (let index = 0; index < count; index++) {
    const waitMs = startedAt + (index * 1_000) / perSecond - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    const result = work(index);
    result.catch(() => {}); // Promise.all reports it, after the last start
    results.push(result);
  }
  return Promise.all(results);
}
