import { revokeDeadConnection } from "../../../src/domain/ads/ad-account-access.ts";
import { expiredRun, recordRun } from "../../../src/domain/ads/insights-reports.ts";
import type { AdAccess } from "../../../src/platforms/ads/access.ts";
import { isTokenDead, PlatformFailure } from "../../../src/platforms/errors/failure.ts";
import type { Platforms } from "../../../src/platforms/platforms.ts";
import type { Fields, Log } from "../../../src/runtime/logging/log.ts";
import type { WorkTracker } from "../../../src/runtime/watchdog/work-tracker.ts";
import { openConnectionToken } from "../../../src/security/connection-token.ts";
import type { SecretBox } from "../../../src/security/secret-box.ts";
import {
  type DueReport,
  pauseReportsOfAccount,
  postponeReports,
} from "../../../src/store/ads/due-reports.ts";
import type { Database } from "../../../src/store/database/database.ts";

export interface ReportParts {
  db: Database;
  secretBox: SecretBox;
  ads: Pick<Platforms["ads"], "insights" | "accounts">;
  log: Log;
  tracker: WorkTracker;
}

/** Reports of one account. */
export type ReportBatch = readonly [DueReport, ...DueReport[]];

export interface BatchFindings {
  /** Reports whose status was read. */
  checked: number;
  failed: number;
  /** The platform's first reason why a report was not read. */
  failure?: PlatformFailure;
}

/** Reads the status of the reports and stores it. Reports that could not be read are due again later. */
export async function checkBatch(parts: ReportParts, batch: ReportBatch): Promise<BatchFindings> {
  try {
    return await readAndRecord(parts, batch);
  } catch (error) {
    // For example a token that cannot be decrypted; the reports of other accounts are not affected.
    await postpone(parts, batch, { err: error });
    return { checked: 0, failed: batch.length };
  }
}

async function readAndRecord(parts: ReportParts, batch: ReportBatch): Promise<BatchFindings> {
  const access = accessOf(parts, batch[0]);
  const unread = new Map<DueReport, PlatformFailure>();
  const results = await parts.ads.insights.readReports(
    access,
    batch.map(({ id }) => id),
  );
  for (const [index, result] of results.entries()) {
    const report = batch[index] as DueReport;
    if (result instanceof PlatformFailure) unread.set(report, result);
    else await recordRun(parts.db, report, result);
  }
  const remaining = await finishExpired(parts, access, unread);
  const [failure] = remaining.values();
  if (failure) await putOff(parts, [...remaining.keys()] as [DueReport, ...DueReport[]], failure);
  const checked = batch.length - remaining.size;
  return { checked, failed: remaining.size, ...(failure ? { failure } : {}) };
}

function accessOf({ secretBox }: ReportParts, report: DueReport): AdAccess {
  const token = openConnectionToken(secretBox, report.connection_id, report.token_sealed);
  return { account: report.ad_account_id, token, about: { client: report.client_id } };
}

/**
 * Records the end of reports that the platform does not have any more. Its answer is the same when the token has lost
 * the account, so the account is read first. Returns the other unread reports.
 */
async function finishExpired(
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
export const isPause = ({ verdict }: PlatformFailure): boolean =>
  verdict === "throttled" || verdict === "held";

async function putOff(parts: ReportParts, reports: ReportBatch, failure: PlatformFailure): Promise<void> {
  if (isTokenDead(failure)) await revokeDeadConnection(parts, reports[0].connection_id);
  else if (failure.holds === "app")
    return; // all reports stay due; the run stops
  else if (isPause(failure)) await pauseReportsOfAccount(parts.db, reports[0], failure.wait ?? 0);
  else await postpone(parts, reports, { verdict: failure.verdict });
}

async function postpone({ db, log }: ReportParts, reports: ReportBatch, reason: Fields): Promise<void> {
  const [{ client_id: client, ad_account_id: ad_account }] = reports;
  log.warn("insights_report.check_failed", { client, ad_account, reports: reports.length, ...reason });
  await postponeReports(
    db,
    reports.map(({ id }) => id),
  );
}
