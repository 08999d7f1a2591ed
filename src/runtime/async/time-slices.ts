import { SECOND } from "../durations.ts";
import { createShares } from "./shares.ts";

/** A larger text is parsed in a slice of its own. */
export const MAX_INLINE_BYTES = 262_144;

/** A slice ends at the first item after this time. */
const MAX_SLICE_MS = 10;

/** Callers of `nextSlice`. Process-wide, because the event loop is. */
const waiting: (() => void)[] = [];

/**
 * Cuts long synchronous work into slices, between which the event loop answers other requests. Resolves in a later turn,
 * for one caller per turn: ten callers do not add up to one long turn.
 */
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

/** Resolves after the current turn of the event loop, when everything that settles in it has settled. */
export const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The key of the webhook endpoint in shares. Its large bodies are parsed before those of clients. */
export const WEBHOOK_KEY = "webhook";

/**
 * Large bodies are scanned and parsed one at a time, in turn between their senders: the event loop is blocked meanwhile.
 * Process-wide, because the event loop is.
 */
export const largeBodies = createShares({
  capacity: 1,
  maxWaitingPerKey: Number.POSITIVE_INFINITY, // the memory for bodies limits their number
  maxWaitMs: 10 * SECOND,
  firstKey: WEBHOOK_KEY,
});
