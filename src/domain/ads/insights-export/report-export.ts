import type { InsightsQuery, ReportRun } from "../../../platforms/ads/insights.ts";
import type { Fields } from "../../../platforms/client/body.ts";
import { eachPageOfItems } from "../../../platforms/client/list-pages.ts";
import { PlatformFailure } from "../../../platforms/errors/failure.ts";
import type { Platforms } from "../../../platforms/platforms.ts";
import { pause } from "../../../runtime/async/pause.ts";
import { HOUR } from "../../../runtime/durations.ts";
import { jittered } from "../../../runtime/jitter.ts";
import type { Log } from "../../../runtime/logging/log.ts";
import type { Database } from "../../../store/database/database.ts";
import { type AdAccountAccess, callForAccount } from "../ad-account-access.ts";
import { hasEnded } from "../insights-reports.ts";
import { createWaitOut, nextDelay } from "./wait-out.ts";

export interface ReportExportParts {
  db: Database;
  log: Log;
  platforms: Pick<Platforms, "ads">;
}

export interface ReportExport {
  /** Starts a report and follows it; returns the run when it has completed or failed. */
  run(query: InsightsQuery, onProgress: (percent: number) => void): Promise<ReportRun>;
  /** Reads the rows of a completed report, page by page. */
  pages(runId: string): AsyncIterable<readonly Fields[]>;
}

const PAGE_ROWS = 500;

/** A report takes up to an hour, and an outage of an hour is waited for. */
const REPORT_TIMEOUT_MS = 2 * HOUR;

/**
 * Exports a report without storing it. A failure at the start is thrown at once: only a report that exists is worth
 * waiting for while the platform is throttled or unreachable.
 */
export function createReportExport(
  { db, log, platforms }: ReportExportParts,
  account: AdAccountAccess,
): ReportExport {
  const { insights } = platforms.ads;
  const { access } = account;
  const call = <T>(work: () => Promise<T>) => callForAccount({ db, log }, account, work);
  const waitOut = createWaitOut();
  return {
    async run(query, onProgress) {
      const runId = await call(() => insights.startReport(access, query));
      return followRun(() => waitOut(() => call(() => insights.readReport(access, runId))), onProgress);
    },
    pages: (runId) =>
      eachPageOfItems((after) =>
        waitOut(() => call(() => insights.reportRows(access, runId, { limit: PAGE_ROWS, after }))),
      ),
  };
}

async function followRun(
  readRun: () => Promise<ReportRun>,
  onProgress: (percent: number) => void,
): Promise<ReportRun> {
  const endsAt = Date.now() + REPORT_TIMEOUT_MS;
  for (let delay = nextDelay(); ; delay = nextDelay(delay)) {
    await pause(jittered(delay));
    const run = await readRun();
    onProgress(run.async_percent_completion);
    if (hasEnded(run)) return run;
    if (Date.now() > endsAt)
      throw new PlatformFailure("timeout", "The platform did not complete the report in time");
  }
}

/** The platform's code of a failed call; undefined for any other error. */
export const platformCodeOf = (error: unknown): number | undefined =>
  error instanceof PlatformFailure ? error.platformError?.code : undefined;
