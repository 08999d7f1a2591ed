/**
 * Long synchronous work is cut into slices, so that the event loop answers other requests in between. `nextSlice`
 * resolves in a later turn of the event loop, for one caller per turn: ten callers do not add up to one long turn.
 * The queue is process-wide because the event loop is.
 */
const waiting: (() => void)[] = [];

/** A larger text is parsed in a slice of its own. */
export const MAX_INLINE_BYTES = 262_144;

/** A slice ends at the first item after this time. */
const MAX_SLICE_MS = 10;

export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(resumeNext);
  });
}

function resumeNext(): void {
  const [resume] = waiting;
  resume?.();
  setImmediate(() => {
    waiting.shift();
    if (waiting.length > 0) resumeNext();
  });
}

/** Collects the items like an array spread, in slices. Short work ends within the first slice, without waiting. */
export async function collectInSlices<T>(items: Iterable<T>): Promise<T[]> {
  const collected: T[] = [];
  let sliceEndsAt = performance.now() + MAX_SLICE_MS;
  for (const item of items) {
    collected.push(item);
    if (performance.now() <= sliceEndsAt) continue;
    await nextSlice();
    sliceEndsAt = performance.now() + MAX_SLICE_MS;
  }
  return collected;
}
