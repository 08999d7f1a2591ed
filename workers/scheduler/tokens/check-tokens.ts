import { PlatformFailure } from "../../../src/platforms/errors/failure.ts";
import {
  type ConnectionRow,
  connectionClaims,
  countUncheckedConnections,
  listUncheckedConnections,
  markChecked,
} from "../../../src/store/ads/ad-connections.ts";
import { JobError, type JobTick } from "../job.ts";
import { isPlatformSilent } from "../platform-silence.ts";
import { processUnits } from "../units.ts";
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
  { scheduledAt, signal, claimant }: JobTick,
): Promise<Record<string, number>> {
  const totals = { checked: 0, failed: 0, ...NO_FINDINGS };
  let silenceWeight = 0;
  let lastError: Error | undefined;
  const shouldStop = () => signal.aborted || silenceWeight >= MAX_SILENCE_WEIGHT;

  async function checkAndCount(connection: ConnectionRow): Promise<void> {
    const unit = parts.tracker.begin(`connection ${connection.id}`);
    const findings = await checkConnection(parts, connection, unit).finally(() => unit.end());
    for (const name of Object.keys(findings) as (keyof Findings)[]) totals[name] += findings[name];
    totals.checked += 1;
    if (!shouldStop()) silenceWeight = 0;
  }

  /** False when the connection stays unchecked and comes first next time. */
  async function checkOnce(connection: ConnectionRow): Promise<boolean> {
    try {
      await checkAndCount(connection);
    } catch (error) {
      if (shouldStop()) return false; // stopped by another check
      lastError = error as Error;
      silenceWeight = silenceWeightOf(error) === 0 ? 0 : silenceWeight + silenceWeightOf(error);
      if (error instanceof AppError && error.kind === "pause") return false;
      totals.failed += 1;
      logCheckFailed(parts, connection, error);
    }
    await markChecked(parts.db, connection.id, scheduledAt);
    return true;
  }

  const quarantined = await processUnits({
    db: parts.db,
    claims: connectionClaims,
    claimant,
    maxConcurrent: MAX_CONCURRENT_CHECKS,
    maxPerSecond: parts.maxChecksPerSecond ?? MAX_CHECKS_PER_SECOND,
    list: (areSuspects) =>
      listUncheckedConnections(parts.db, scheduledAt, {
        limit: parts.maxBatchRows ?? MAX_BATCH_ROWS,
        areSuspects,
      }),
    process: async (batch) => (await Promise.all(batch.map(checkOnce))).every(Boolean),
    shouldStop,
    onQuarantined: ({ clientId: client, id: connection, deaths }) =>
      parts.log.error("ad_connection.quarantined", { client, connection, deaths }),
  });
  signal.throwIfAborted();
  const counts = {
    ...totals,
    quarantined,
    left: shouldStop() ? await countUncheckedConnections(parts.db, scheduledAt) : 0,
  };
  // A run that checked nothing, or stopped early, must not be recorded as ok.
  if (lastError && (shouldStop() || totals.checked === 0))
    throw new JobError(lastError.message, counts, { cause: lastError });
  return counts;
}

function silenceWeightOf(error: unknown): number {
  if (error instanceof AppError) return SILENCE_WEIGHTS[error.kind];
  return isPlatformSilent(error) ? 1 : 0;
}

function logCheckFailed(
  { log }: CheckParts,
  { id: connection, client_id: client }: ConnectionRow,
  error: unknown,
): void {
  const failure = error instanceof AppError ? error.failure : error;
  const errorFields = failure instanceof PlatformFailure ? { verdict: failure.verdict } : { err: failure };
  log.warn("ad_connection.check_failed", { client, connection, ...errorFields });
}
