import { setTimeout as sleep } from "node:timers/promises";
import { SECOND } from "../../src/runtime/durations.ts";
import type { Database } from "../../src/store/database/database.ts";
import type { Claimant } from "../../src/store/processes/cron-runs.ts";
import type { QuarantinedUnit, UnitClaims } from "../../src/store/processes/unit-claims.ts";

/**
 * A unit of work is a row that a run processes once. It names this scheduler while it is processed, so that the next run
 * counts a death when the scheduler dies meanwhile. `processUnits` counts those deaths first, then processes the units
 * that are no suspects in batches, several concurrently, then the suspects one at a time with nothing else in flight. A
 * quarantined unit is not processed.
 */

export interface UnitWork<U extends { id: string }> {
  db: Database;
  claims: UnitClaims;
  claimant: Claimant;
  maxConcurrent: number;
  maxPerSecond: number;
  /** Lists the next units that this run has not processed: suspects, or the others. */
  list(areSuspects: boolean): Promise<U[]>;
  /** Forms batches of units that are processed together; by default each is alone, as suspects always are. */
  toBatches?(units: readonly U[]): U[][];
  /** Processes a batch and records its units as done with SET_UNIT_DONE; false when some remain to be done. */
  process(batch: readonly U[]): Promise<boolean>;
  shouldStop(): boolean;
  onQuarantined(unit: QuarantinedUnit): void;
}

/** Returns the number of quarantined units, old and new. */
export async function processUnits<U extends { id: string }>(work: UnitWork<U>): Promise<number> {
  const { db, claims, maxConcurrent } = work;
  const seenIds = new Set<string>();
  for (const unit of await claims.countDeaths(db, work.claimant)) work.onQuarantined(unit);
  await processAll(work, { seenIds, areSuspects: false, maxConcurrent });
  await processAll(work, { seenIds, areSuspects: true, maxConcurrent: 1 });
  return claims.countQuarantined(db);
}

interface Phase {
  /** A scheduler that was wrongly taken for dead may process units of this run too: process each once. */
  seenIds: Set<string>;
  areSuspects: boolean;
  maxConcurrent: number;
}

async function processAll<U extends { id: string }>(work: UnitWork<U>, phase: Phase): Promise<void> {
  const { seenIds, areSuspects, maxConcurrent } = phase;
  while (!work.shouldStop()) {
    const unseen = (await work.list(areSuspects)).filter(({ id }) => !seenIds.has(id));
    if (unseen.length === 0) return;
    const toBatches = areSuspects ? eachAlone<U> : (work.toBatches ?? eachAlone<U>);
    const processUnseen = (batch: readonly U[]) => {
      for (const { id } of batch) seenIds.add(id);
      return processBatch(work, batch);
    };
    await runThrottled({ ...work, maxConcurrent }, toBatches(unseen), processUnseen);
  }
}

const eachAlone = <U>(units: readonly U[]): U[][] => units.map((unit) => [unit]);

async function processBatch<U extends { id: string }>(work: UnitWork<U>, batch: readonly U[]): Promise<void> {
  const { db, claims, claimant } = work;
  const ids = batch.map(({ id }) => id);
  let isDone = false;
  try {
    const claimed = await claims.claim(db, ids, claimant.worker);
    isDone = claimed.size === 0 || (await work.process(batch.filter(({ id }) => claimed.has(id))));
  } finally {
    // Also when the claim failed: Postgres may have committed it. Units that are not released here are released by the
    // next run.
    if (!isDone) await claims.release(db, ids, claimant.worker).catch(() => {});
  }
}

type Limits = Pick<UnitWork<never>, "maxConcurrent" | "maxPerSecond" | "shouldStop">;

/** When the work throws, starts no further items, waits for those that run, and throws the error. */
async function runThrottled<T>(
  { maxConcurrent, maxPerSecond, shouldStop }: Limits,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const runner = async () => {
    for (let item = waiting.shift(); item !== undefined && !shouldStop(); item = waiting.shift()) {
      const minInterval = sleep((maxConcurrent * SECOND) / maxPerSecond);
      await work(item);
      if (waiting.length > 0) await minInterval;
    }
  };
  const stopAll = (error: unknown) => {
    waiting.length = 0;
    throw error;
  };
  const results = await Promise.allSettled(
    Array.from({ length: maxConcurrent }, () => runner().catch(stopAll)),
  );
  for (const result of results) if (result.status === "rejected") throw result.reason;
}
