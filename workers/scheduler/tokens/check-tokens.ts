import { setTimeout as sleep } from "node:timers/promises";
import { PlatformFailure } from "../../../src/platforms/errors/failure.ts";
import type { Verdict } from "../../../src/platforms/errors/verdicts.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import {
  type ConnectionRow,
  countUncheckedConnections,
  listUncheckedConnections,
  markChecked,
} from "../../../src/store/ads/ad-connections.ts";
import { JobError, type JobTick } from "../job.ts";
import { AppError } from "./app-errors.ts";
import { checkConnection } from "./check-connection.ts";
import { type CheckParts, type Findings, NO_FINDINGS } from "./findings.ts";

const MAX_BATCH_ROWS = 100;
/** Spreads the calls: checks started per second, and checks that run concurrently. */
const MAX_CHECKS_PER_SECOND = 20;
const MAX_CONCURRENT_CHECKS = 4;
/**
 * The platform counts as unavailable when failures in a row reach this weight. A failed inspection of a token weighs more
 * than a failed account list: one client can cause many of those, and the others must still be checked.
 */
const MAX_SILENCE_WEIGHT = 50;
const SILENCE_WEIGHTS = { "no answer": 10, pause: MAX_SILENCE_WEIGHT } as const;

/**
 * Checks every connection once per tick, the longest unchecked first. When a shutdown or the platform stops a run, the
 * next run of the same tick, or the next tick, continues with the unchecked ones.
 */
export async function checkTokens(
  parts: CheckParts,
  { scheduledAt, signal }: JobTick,
): Promise<Record<string, number>> {
  const totals = { checked: 0, failed: 0, ...NO_FINDINGS };
  const seen = new Set<string>();
  let silenceWeight = 0;
  let lastError: Error | undefined;
  const shouldStop = () => signal.aborted || silenceWeight >= MAX_SILENCE_WEIGHT;

  async function checkAndCount(connection: ConnectionRow): Promise<void> {
    const findings = await checkConnection(parts, connection);
    for (const name of Object.keys(findings) as (keyof Findings)[]) totals[name] += findings[name];
    totals.checked += 1;
    if (!shouldStop()) silenceWeight = 0;
  }

  async function checkOnce(connection: ConnectionRow): Promise<void> {
    seen.add(connection.id);
    try {
      await checkAndCount(connection);
    } catch (error) {
      if (shouldStop()) return; // stopped by another check: this one stays unchecked and comes first next time
      lastError = error as Error;
      silenceWeight = silenceWeightOf(error) === 0 ? 0 : silenceWeight + silenceWeightOf(error);
      if (error instanceof AppError && error.kind === "pause") return;
      totals.failed += 1;
      logCheckFailed(parts, connection, error);
    }
    await markChecked(parts.db, connection.id, scheduledAt);
  }

  while (!shouldStop()) {
    const batch = await listUncheckedConnections(parts.db, scheduledAt, MAX_BATCH_ROWS);
    // A scheduler that was wrongly taken for dead may mark connections with another tick: check each once per run.
    const unseen = batch.filter(({ id }) => !seen.has(id));
    if (unseen.length === 0) break;
    await runThrottled(unseen, checkOnce, shouldStop);
  }
  signal.throwIfAborted();
  const counts = {
    ...totals,
    left: shouldStop() ? await countUncheckedConnections(parts.db, scheduledAt) : 0,
  };
  // A run that checked nothing, or stopped early, must not be recorded as ok.
  if (lastError && (shouldStop() || totals.checked === 0))
    throw new JobError(lastError.message, counts, { cause: lastError });
  return counts;
}

function silenceWeightOf(error: unknown): number {
  if (error instanceof AppError) return SILENCE_WEIGHTS[error.kind];
  const isSilent = error instanceof PlatformFailure && SILENT_VERDICTS.includes(error.verdict);
  return isSilent ? 1 : 0;
}

/** Verdicts that an unavailable platform causes. */
const SILENT_VERDICTS: readonly Verdict[] = [
  "transient",
  "timeout",
  "unreachable",
  "disconnected",
  "unusable_answer",
  "ambiguous",
];

function logCheckFailed(
  { log }: CheckParts,
  { id: connection, client_id: client }: ConnectionRow,
  error: unknown,
): void {
  const failure = error instanceof AppError ? error.failure : error;
  const errorFields = failure instanceof PlatformFailure ? { verdict: failure.verdict } : { err: failure };
  log.warn("ad_connection.check_failed", { client, connection, ...errorFields });
}

/** When the work throws, starts no further items, waits for those that run, and throws the error. */
async function runThrottled<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  shouldStop: () => boolean,
): Promise<void> {
  const waiting = [...items];
  const runner = async () => {
    for (let item = waiting.shift(); item !== undefined && !shouldStop(); item = waiting.shift()) {
      const minInterval = sleep((MAX_CONCURRENT_CHECKS * SECOND) / MAX_CHECKS_PER_SECOND);
      await work(item);
      if (waiting.length > 0) await minInterval;
    }
  };
  const stopAll = (error: unknown) => {
    waiting.length = 0;
    throw error;
  };
  const results = await Promise.allSettled(
    Array.from({ length: MAX_CONCURRENT_CHECKS }, () => runner().catch(stopAll)),
  );
  for (const result of results) if (result.status === "rejected") throw result.reason;
}
