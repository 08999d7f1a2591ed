import { PlatformFailure } from "../../src/platforms/errors/failure.ts";
import {
  type ConnectionRow,
  claimUncheckedConnection,
  countUncheckedConnections,
  endConnectionCheck,
} from "../../src/store/ads/ad-connections.ts";
import type { Database } from "../../src/store/database/database.ts";
import { databaseTime } from "../../src/store/database/database.ts";
import { countQuarantinedRows, quarantineRows } from "../../src/store/processes/row-checks.ts";
import {
  AppError,
  type CheckParts,
  checkConnection,
  type Findings,
  NO_FINDINGS,
} from "./check-connection.ts";
import { checkRows, isPlatformSilent, orAbort } from "./check-rows.ts";
import { JobError, type JobTick } from "./cron.ts";

/**
 * The platform counts as unavailable when failures in a row reach this weight. A failed inspection of a token weighs more
 * than a failed account list: one client can cause many of those, and the others must still be checked.
 */
const MAX_SILENCE_WEIGHT = 50;
const SILENCE_WEIGHTS = { no_answer: 10, pause: MAX_SILENCE_WEIGHT } as const;

/**
 * Checks every connection once per tick, the longest unchecked first. When a shutdown or the platform stops a run, the
 * next tick continues with the unchecked ones.
 */
export async function checkTokens(
  parts: CheckParts & { maxChecksPerSecond?: number },
  { scheduledAt, signal }: JobTick,
): Promise<Record<string, number>> {
  const { db, log, tracker } = parts;
  const tick = await earlierOf(scheduledAt, db);
  const totals = { checked: 0, failed: 0, ...NO_FINDINGS };
  let silenceWeight = 0;
  let lastError: Error | undefined;
  const shouldStop = () => signal.aborted || silenceWeight >= MAX_SILENCE_WEIGHT;

  async function checkAndCount(connection: ConnectionRow): Promise<void> {
    const tracked = tracker.begin(`connection ${connection.id}`);
    const findings = await orAbort(signal, () => checkConnection(parts, connection, tracked)).finally(() =>
      tracked.end(),
    );
    for (const name of Object.keys(findings) as (keyof Findings)[]) totals[name] += findings[name];
    totals.checked += 1;
    if (!shouldStop()) silenceWeight = 0;
  }

  /** False when the check was stopped: by a shutdown, by a pause of the app, or because another check met one. */
  function countFailure(connection: ConnectionRow, error: unknown): boolean {
    if (shouldStop()) return false;
    lastError = error as Error;
    silenceWeight = silenceWeightOf(error) === 0 ? 0 : silenceWeight + silenceWeightOf(error);
    if (error instanceof AppError && error.kind === "pause") return false;
    totals.failed += 1;
    logCheckFailed(parts, connection, error);
    return true;
  }

  async function check(connection: ConnectionRow): Promise<void> {
    const isChecked = await checkAndCount(connection).then(
      () => true,
      (error) => countFailure(connection, error),
    );
    await endConnectionCheck(db, connection.id, isChecked);
  }

  for (const { client, id: connection, deaths } of await quarantineRows(db, "ad_connections"))
    log.error("ad_connection.quarantined", { client, connection, deaths });
  await checkRows({
    claim: (areSuspects) => claimConnections(db, tick, areSuspects),
    check,
    shouldStop,
    maxPerSecond: parts.maxChecksPerSecond,
  });
  signal.throwIfAborted();
  const { tokens: quarantined } = await countQuarantinedRows(db);
  const left = shouldStop() ? await countUncheckedConnections(db, tick) : 0;
  const counts = { ...totals, quarantined, left };
  // A run that checked nothing, or stopped early, must not be recorded as ok.
  if (lastError && (shouldStop() || totals.checked === 0))
    throw new JobError(lastError.message, counts, { cause: lastError });
  return counts;
}

/** The database's time when the tick is later: a scheduler whose clock is ahead must not make later ticks skip rows. */
async function earlierOf(scheduledAt: Date, db: Database): Promise<Date> {
  const now = await databaseTime(db);
  return scheduledAt < now ? scheduledAt : now;
}

async function* claimConnections(
  db: Database,
  tick: Date,
  areSuspects: boolean,
): AsyncGenerator<ConnectionRow> {
  for (;;) {
    const connection = await claimUncheckedConnection(db, tick, areSuspects);
    if (!connection) return;
    yield connection;
  }
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
