import type { InsightsQuery, ReportRun } from "../../platforms/ads/insights.ts";
import type { Fields } from "../../platforms/bodies.ts";
import { eachPageOfItems } from "../../platforms/client/list-pages.ts";
import { PlatformFailure } from "../../platforms/errors/failure.ts";
import { jittered, pause } from "../../runtime/async/timeouts-and-retries.ts";
import { HOUR, SECOND } from "../../runtime/durations.ts";
import { type AdAccountAccess, callForAccount } from "./ad-account-access.ts";
import type { AdObjectParts } from "./ad-objects.ts";
import { hasEnded } from "./insights-reports.ts";

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
export function createReportExport(parts: AdObjectParts, account: AdAccountAccess): ReportExport {
  const { insights } = parts.platforms.ads;
  const { access } = account;
  const call = <T>(work: () => Promise<T>) => callForAccount(parts, account, work);
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

const FIRST_DELAY_MS = SECOND;
const MAX_DELAY_MS = 15 * SECOND;
const GROWTH = 1.5;

/** The next delay of a series that grows to 15 seconds; the first without `delayMs`. */
export const nextDelay = (delayMs?: number): number =>
  delayMs === undefined ? FIRST_DELAY_MS : Math.min(delayMs * GROWTH, MAX_DELAY_MS);

/** Repeats a read while the platform is throttled or unreachable. */
type WaitOut = <T>(read: () => Promise<T>) => Promise<T>;

/** All reads together wait for at most `maxWaitMs`; the failure that would need more is thrown. */
export function createWaitOut(maxWaitMs = HOUR): WaitOut {
  let remainingMs = maxWaitMs;
  return async (read) => {
    for (let delay = nextDelay(); ; delay = nextDelay(delay)) {
      try {
        return await read();
      } catch (error) {
        const waitMs = Math.max(requestedWait(error), jittered(delay));
        if (waitMs > remainingMs) throw error;
        remainingMs -= waitMs;
        await pause(waitMs);
      }
    }
  };
}

/** Milliseconds that the platform asks to wait; infinite when the read would fail again. */
const requestedWait = (error: unknown): number =>
  error instanceof PlatformFailure && error.retryable ? (error.wait ?? 0) : Number.POSITIVE_INFINITY;
