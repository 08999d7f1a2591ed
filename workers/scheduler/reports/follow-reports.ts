import { expiredRun, recordRun } from "../../../src/domain/ads/insights-reports.ts";
import { MAX_CALLS_PER_BATCH } from "../../../src/platforms/client/batch.ts";
import type { PlatformFailure } from "../../../src/platforms/errors/failure.ts";
import { countDueReports, type DueReport, listDueReports } from "../../../src/store/ads/due-reports.ts";
import { listExpiredReports, reportClaims } from "../../../src/store/ads/insights-reports.ts";
import { JobError, type JobTick } from "../job.ts";
import { isPlatformSilent } from "../platform-silence.ts";
import { processUnits } from "../units.ts";
import {
  type BatchFindings,
  checkBatch,
  isPause,
  type ReportBatch,
  type ReportParts,
} from "./check-batch.ts";

const MAX_LISTED_ROWS = 500;
/** Spreads the calls: batches started per second, and batches that are checked concurrently. */
const MAX_BATCHES_PER_SECOND = 20;
const MAX_CONCURRENT_BATCHES = 4;
/** The platform counts as unavailable after this many batches in a row without a usable answer. */
const MAX_SILENT_BATCHES = 10;

/**
 * Reads the status of the reports that are due, in batches of one account. Reports are due less often as they age; those
 * of a throttled account wait until the platform accepts its calls. A run stops when the app is throttled or the platform
 * is unavailable; its reports stay due.
 */
export async function followReports(
  parts: ReportParts,
  { signal, claimant }: JobTick,
): Promise<Record<string, number>> {
  const { db, log, tracker } = parts;
  const totals = { checked: 0, failed: 0, throttled: 0, expired: await finishExpiredReports(parts) };
  let silentBatches = 0;
  let stopReason: PlatformFailure | undefined;
  const shouldStop = () => signal.aborted || stopReason !== undefined;

  /** False when some reports remain claimed: those of a throttled account or app, or of a dead token. */
  function count({ checked, failed, failure }: BatchFindings): boolean {
    totals.checked += checked;
    totals[failure && isPause(failure) ? "throttled" : "failed"] += failed;
    silentBatches = isPlatformSilent(failure) ? silentBatches + 1 : 0;
    if (failure && (failure.holds === "app" || silentBatches >= MAX_SILENT_BATCHES)) stopReason = failure;
    return failure === undefined;
  }

  async function process(batch: readonly DueReport[]): Promise<boolean> {
    const [{ client_id, ad_account_id }] = batch as ReportBatch;
    const unit = tracker.begin(`reports of ${ad_account_id} client ${client_id}`);
    return count(await checkBatch(parts, batch as ReportBatch).finally(() => unit.end()));
  }

  const quarantined = await processUnits({
    db,
    claims: reportClaims,
    claimant,
    maxConcurrent: MAX_CONCURRENT_BATCHES,
    maxPerSecond: MAX_BATCHES_PER_SECOND,
    list: (areSuspects) =>
      listDueReports(db, { limit: MAX_LISTED_ROWS, perAccount: MAX_CALLS_PER_BATCH, areSuspects }),
    toBatches: byAccount,
    process,
    shouldStop,
    onQuarantined: ({ clientId: client, id: report, deaths }) =>
      log.error("insights_report.quarantined", { client, report, deaths }),
  });
  signal.throwIfAborted();
  const counts = { ...totals, quarantined, left: stopReason ? await countDueReports(db) : 0 };
  if (stopReason) throw new JobError(stopReason.message, counts, { cause: stopReason });
  return counts;
}

/** Reports that did not end in time, also those of accounts that cannot be read. Returns how many. */
async function finishExpiredReports({ db }: ReportParts): Promise<number> {
  const expired = await listExpiredReports(db, MAX_LISTED_ROWS);
  for (const report of expired) await recordRun(db, report, expiredRun(report));
  return expired.length;
}

/** The list has at most one batch of each account. */
function byAccount(reports: readonly DueReport[]): DueReport[][] {
  const batches = new Map<string, DueReport[]>();
  for (const report of reports) {
    const account = `${report.client_id} ${report.ad_account_id}`;
    const batch = batches.get(account);
    if (batch) batch.push(report);
    else batches.set(account, [report]);
  }
  return [...batches.values()];
}
