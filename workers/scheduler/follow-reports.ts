import { revokeDeadConnection } from "../../src/domain/ads/ad-account-access.ts";
import { expiredRun, recordRun } from "../../src/domain/ads/insights-reports.ts";
import type { AdAccess } from "../../src/platforms/ads/access.ts";
import { MAX_CALLS_PER_BATCH } from "../../src/platforms/client/client.ts";
import { isTokenDead, PlatformFailure } from "../../src/platforms/errors/failure.ts";
import type { Platforms } from "../../src/platforms/platforms.ts";
import type { Fields, Log } from "../../src/runtime/log.ts";
import type { WorkTracker } from "../../src/runtime/watchdog.ts";
import { openConnectionToken } from "../../src/security/sealed-tokens.ts";
import type { SecretBox } from "../../src/security/secret-box.ts";
import {
  claimDueReports,
  countDueReports,
  type DueReport,
  endReportChecks,
  listDueAccounts,
  listExpiredReports,
  pauseReportsOfAccount,
} from "../../src/store/ads/insights-reports.ts";
import type { Database } from "../../src/store/database/database.ts";
import { databaseTime } from "../../src/store/database/database.ts";
import { countQuarantinedRows, quarantineRows } from "../../src/store/processes/row-checks.ts";
import { checkRows, isPlatformSilent, orAbort } from "./check-rows.ts";
import { JobError, type JobTick } from "./cron.ts";

const MAX_LISTED_ROWS = 500;
/** The platform counts as unavailable after this many batches in a row without a usable answer. */
const MAX_SILENT_BATCHES = 10;

export interface ReportParts {
  db: Database;
  secretBox: SecretBox;
  ads: Pick<Platforms["ads"], "insights" | "accounts">;
  log: Log;
  tracker: WorkTracker;
}

/** Reports of one account. */
type ReportBatch = readonly [DueReport, ...DueReport[]];

/**
 * Reads the status of the reports that are due, in batches of one account. Reports are due less often as they age; those
 * of a throttled account wait until the platform accepts its calls. A run stops when the app is throttled or the platform
 * is unavailable; its reports stay due.
 */
export async function followReports(
  parts: ReportParts,
  { signal }: Pick<JobTick, "signal">,
): Promise<Record<string, number>> {
  const { db, log, tracker } = parts;
  const dueAt = await databaseTime(db);
  const totals = { checked: 0, failed: 0, throttled: 0, expired: await finishExpiredReports(parts) };
  let silentBatches = 0;
  let stopReason: PlatformFailure | undefined;

  function count({ checked, failed, failure }: BatchFindings): void {
    totals.checked += checked;
    totals[failure && isPause(failure) ? "throttled" : "failed"] += failed;
    silentBatches = isPlatformSilent(failure) ? silentBatches + 1 : 0;
    if (failure && (failure.pauses === "app" || silentBatches >= MAX_SILENT_BATCHES)) stopReason = failure;
  }

  async function check(batch: ReportBatch): Promise<void> {
    const [{ client_id, ad_account_id }] = batch;
    const tracked = tracker.begin(`reports of ${ad_account_id} client ${client_id}`);
    let areChecked = false;
    try {
      const findings = await orAbort(signal, () => checkBatch(parts, batch));
      count(findings);
      areChecked = findings.failure?.pauses !== "app";
    } finally {
      tracked.end();
      await endReportChecks(db, idsOf(batch), { areChecked, dueAt });
    }
  }

  for (const { client, id: report, deaths } of await quarantineRows(db, "insights_reports"))
    log.error("insights_report.quarantined", { client, report, deaths });
  await checkRows({
    claim: (areSuspects) => claimBatches(db, dueAt, areSuspects),
    check,
    shouldStop: () => signal.aborted || stopReason !== undefined,
  });
  signal.throwIfAborted();
  const { reports: quarantined } = await countQuarantinedRows(db);
  const counts = { ...totals, quarantined, left: stopReason ? await countDueReports(db, dueAt) : 0 };
  if (stopReason) throw new JobError(stopReason.message, counts, { cause: stopReason });
  return counts;
}

/** Reports that did not end in time, also those of accounts that cannot be read. Returns how many. */
async function finishExpiredReports({ db }: ReportParts): Promise<number> {
  const expired = await listExpiredReports(db, MAX_LISTED_ROWS);
  for (const report of expired) await recordRun(db, report, expiredRun(report));
  return expired.length;
}

/** Each account gets one batch per round, so that no account waits for another's backlog. A suspect is alone in its batch. */
async function* claimBatches(db: Database, dueAt: Date, areSuspects: boolean): AsyncGenerator<ReportBatch> {
  const limit = areSuspects ? 1 : MAX_CALLS_PER_BATCH;
  for (let hasClaimed = true; hasClaimed; ) {
    hasClaimed = false;
    for (const account of await listDueAccounts(db, { dueAt, areSuspects }, MAX_LISTED_ROWS)) {
      const [first, ...others] = await claimDueReports(db, account, { dueAt, areSuspects, limit });
      if (!first) continue;
      hasClaimed = true;
      yield [first, ...others];
    }
  }
}

interface BatchFindings {
  /** Reports whose status was read. */
  checked: number;
  failed: number;
  /** The platform's first reason why a report was not read. */
  failure?: PlatformFailure;
}

/** Reads the status of the reports and stores it. Reports that could not be read are due again later. */
async function checkBatch(parts: ReportParts, batch: ReportBatch): Promise<BatchFindings> {
  try {
    return await readAndRecord(parts, batch);
  } catch (error) {
    // For example a token that cannot be decrypted; the reports of other accounts are not affected.
    logCheckFailed(parts, batch, { err: error });
    return { checked: 0, failed: batch.length };
  }
}

async function readAndRecord(parts: ReportParts, batch: ReportBatch): Promise<BatchFindings> {
  const access = accessOf(parts, batch[0]);
  const unread = new Map<DueReport, PlatformFailure>();
  const results = await parts.ads.insights.readReports(access, idsOf(batch));
  for (const [index, result] of results.entries()) {
    const report = batch[index] as DueReport;
    if (result instanceof PlatformFailure) unread.set(report, result);
    else await recordRun(parts.db, report, result);
  }
  const remaining = await finishLost(parts, access, unread);
  const [failure] = remaining.values();
  if (failure) await handleFailure(parts, [...remaining.keys()] as [DueReport, ...DueReport[]], failure);
  const checked = batch.length - remaining.size;
  return { checked, failed: remaining.size, ...(failure ? { failure } : {}) };
}

const idsOf = (batch: ReportBatch): string[] => batch.map(({ id }) => id);

function accessOf({ secretBox }: ReportParts, report: DueReport): AdAccess {
  const token = openConnectionToken(secretBox, report.connection_id, report.token_sealed);
  return { account: report.ad_account_id, token, about: { client: report.client_id } };
}

/**
 * Records the end of reports that the platform no longer has. Its answer is the same when the token has lost
 * the account, so the account is read first. Returns the other unread reports.
 */
async function finishLost(
  { db, ads }: ReportParts,
  access: AdAccess,
  unread: ReadonlyMap<DueReport, PlatformFailure>,
): Promise<Map<DueReport, PlatformFailure>> {
  const remaining = new Map(unread);
  const missing = [...unread]
    .filter(([, failure]) => failure.verdict === "missing")
    .map(([report]) => report);
  if (missing.length === 0 || !(await canRead(ads.accounts, access))) return remaining;
  for (const report of missing) {
    await recordRun(db, report, expiredRun(report));
    remaining.delete(report);
  }
  return remaining;
}

const canRead = (accounts: ReportParts["ads"]["accounts"], access: AdAccess): Promise<boolean> =>
  accounts.read(access).then(
    () => true,
    () => false,
  );

/** True when the platform has limited the calls of the account or of the app. */
const isPause = ({ verdict }: PlatformFailure): boolean => verdict === "throttled" || verdict === "paused";

async function handleFailure(
  parts: ReportParts,
  reports: ReportBatch,
  failure: PlatformFailure,
): Promise<void> {
  if (isTokenDead(failure)) await revokeDeadConnection(parts, reports[0].connection_id);
  else if (failure.pauses === "app")
    return; // all reports stay due; the run stops
  else if (isPause(failure)) await pauseReportsOfAccount(parts.db, reports[0], failure.wait ?? 0);
  else logCheckFailed(parts, reports, { verdict: failure.verdict });
}

function logCheckFailed({ log }: ReportParts, reports: ReportBatch, reason: Fields): void {
  const [{ client_id: client, ad_account_id: ad_account }] = reports;
  log.warn("insights_report.check_failed", { client, ad_account, reports: reports.length, ...reason });
}
