import { setTimeout as sleep } from "node:timers/promises";
import { PlatformFailure } from "../../src/platforms/errors/failure.ts";
import type { Verdict } from "../../src/platforms/errors/verdicts.ts";
import { onAbort } from "../../src/runtime/async/timeouts-and-retries.ts";
import { SECOND } from "../../src/runtime/durations.ts";

/** Spreads the calls: checks that are started per second, and checks in flight. */
const MAX_CHECKS_PER_SECOND = 20;
const MAX_CONCURRENT_CHECKS = 4;

interface RowChecks<R> {
  /** Claims what is checked next, the suspects or the others, when it is asked for: a claim counts a death. */
  claim(areSuspects: boolean): AsyncIterable<R>;
  /** Ends the check of the claimed rows in the database, also when it fails or is stopped. */
  check(claimed: R): Promise<void>;
  shouldStop(): boolean;
  maxPerSecond?: number | undefined;
}

/**
 * Checks the rows that are due, several concurrently, then the suspects one at a time with nothing else in flight: other
 * rows do not share the deaths of a row that kills its schedulers.
 */
export async function checkRows<R>(work: RowChecks<R>): Promise<void> {
  await checkAll(work, { areSuspects: false, maxConcurrent: MAX_CONCURRENT_CHECKS });
  await checkAll(work, { areSuspects: true, maxConcurrent: 1 });
}

/** When a check throws, starts no further ones, waits for those in flight, and throws the error. */
async function checkAll<R>(
  { claim, check, shouldStop, maxPerSecond = MAX_CHECKS_PER_SECOND }: RowChecks<R>,
  { areSuspects, maxConcurrent }: { areSuspects: boolean; maxConcurrent: number },
): Promise<void> {
  const inFlight = new Set<Promise<void>>();
  const errors: unknown[] = [];
  const start = (claimed: R) => {
    const task = check(claimed)
      .catch((error) => void errors.push(error))
      .finally(() => inFlight.delete(task));
    inFlight.add(task);
  };
  if (shouldStop()) return;
  try {
    for await (const claimed of claim(areSuspects)) {
      const minInterval = sleep(SECOND / maxPerSecond);
      start(claimed);
      if (inFlight.size >= maxConcurrent) await Promise.race(inFlight);
      await minInterval;
      if (errors.length > 0 || shouldStop()) break;
    }
  } finally {
    await Promise.all(inFlight);
  }
  if (errors.length > 0) throw errors[0];
}

/** Rejects when the signal aborts: the check of a row is given up, so that its end is recorded before the process exits. */
export const orAbort = <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const cancel = onAbort(signal, () => reject(signal.reason));
    work().then(resolve, reject).finally(cancel);
  });

/** Verdicts that an unavailable platform causes. */
const SILENT_VERDICTS: readonly Verdict[] = [
  "transient",
  "timeout",
  "unreachable",
  "disconnected",
  "unusable_answer",
  "ambiguous",
];

/** True when the platform may be unavailable to everyone. */
export const isPlatformSilent = (error: unknown): boolean =>
  error instanceof PlatformFailure && SILENT_VERDICTS.includes(error.verdict);
