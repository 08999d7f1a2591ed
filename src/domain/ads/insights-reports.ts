import { setTimeout as sleep } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { InsightsQuery, ReportRun } from "../../platforms/ads/insights.ts";
import type { ListPageRequest, PlatformListPage } from "../../platforms/client/list-pages.ts";
import { PlatformFailure } from "../../platforms/errors/failure.ts";
import type { Verdict } from "../../platforms/errors/verdicts.ts";
import { PLATFORM_CALL_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";
import { DEFAULT_INSIGHTS_FIELDS } from "../../schema/ad-enumerations.ts";
import {
  beginStatusRead,
  finishReport,
  insertReport,
  type ReportRow,
  recordStatus,
  releaseStatusRead,
} from "../../store/ads/insights-reports.ts";
import type { Database } from "../../store/database/database.ts";
import { type EventDraft, recordEvents } from "../events/record-events.ts";
import { type AdAccountAccess, callForAccount, forAllCallers } from "./ad-account-access.ts";
import type { AdObjectParts } from "./ad-objects.ts";

/**
 * Statuses of a report run, which the platform moves and Herald stores when a request or the scheduler reads them:
 *
 * Job Not Started, and others: it runs; the client asks for its progress.
 * Job Completed: its rows can be read, and insights.report.completed announces it.
 * Job Failed: the platform gave up or lost the run, and insights.report.failed announces it.
 */
const [COMPLETED_STATUS, FAILED_STATUS] = ["Job Completed", "Job Failed"] as const;

/** The event that announces each final status. */
const FINAL_EVENTS: ReadonlyMap<string, EventDraft["type"]> = new Map([
  [COMPLETED_STATUS, "insights.report.completed"],
  [FAILED_STATUS, "insights.report.failed"],
]);

/** True when the rows of the run can be read. */
export const isCompleted = ({ async_status }: ReportRun): boolean => async_status === COMPLETED_STATUS;

/** True when the run has completed or failed. */
export const hasEnded = ({ async_status }: ReportRun): boolean => FINAL_EVENTS.has(async_status);

/** Starts a report at the platform and stores it, so that the scheduler follows it. */
export async function startReport(
  parts: AdObjectParts,
  account: AdAccountAccess,
  query: InsightsQuery,
): Promise<ReportRun> {
  const { insights } = parts.platforms.ads;
  const id = await callForAccount(parts, account, () => insights.startReport(account.access, query));
  const run = { report_run_id: id, async_status: "Job Not Started", async_percent_completion: 0 };
  const { fields = DEFAULT_INSIGHTS_FIELDS, breakdowns = [] } = query;
  const { client_id, ad_account_id: adAccountId } = account.row;
  await insertReport(parts.db, client_id, { id, adAccountId, fields, breakdowns, run });
  return run;
}

/** Stores a status that was read. The end of a run is stored together with its event, once. */
export async function recordRun(
  db: Database,
  report: Pick<ReportRow, "client_id" | "ad_account_id">,
  run: ReportRun,
): Promise<void> {
  const type = FINAL_EVENTS.get(run.async_status);
  if (!type) return recordStatus(db, run.report_run_id, run);
  await db.transaction(async (tx) => {
    if (await finishReport(tx, run.report_run_id, run))
      await recordEvents(tx, [finishedReport(type, report, run)]);
  });
}

const finishedReport = (
  type: EventDraft["type"],
  { client_id: clientId, ad_account_id: adAccountId }: Pick<ReportRow, "client_id" | "ad_account_id">,
  data: ReportRun,
): EventDraft => ({ clientId, type, key: "marketing", adAccountId, data });

/** The run as it is reported when the platform no longer has it. */
export const expiredRun = ({ id }: Pick<ReportRow, "id">): ReportRun => ({
  report_run_id: id,
  async_status: FAILED_STATUS,
  async_percent_completion: 0,
  error_message: "The ad platform no longer has the report; start it again",
});

/** A report run, and the account to which it belongs according to the caller. */
export interface ReportRef {
  db: Database;
  account: AdAccountAccess;
  id: string;
  /** Undefined for a run that was not started through Herald. */
  report: ReportRow | undefined;
}

export interface ReportReader {
  /**
   * Returns a status that is at most 5 seconds old. All callers together read it from the platform once in that time,
   * unless the read fails: the callers that wait in this process get its error, the next one reads again.
   */
  readStatus(ref: ReportRef): Promise<ReportRun>;
  /** Returns the rows of a run; none before it has completed. */
  readRows(ref: ReportRef, page: ListPageRequest): Promise<PlatformListPage>;
}

const STATUS_LIFETIME_MS = 5 * SECOND;
const MAX_CACHED_RUNS = 1_000;
/** Time between two looks for the result of a read that another process has begun. */
const RESULT_POLL_MS = 500;

export function createReportReader(parts: Omit<AdObjectParts, "db">): ReportReader {
  const { insights } = parts.platforms.ads;
  const readFromPlatform = (ref: ReportRef) =>
    callForAccount(forAllCallers(parts, ref), ref.account, () =>
      insights.readReport(ref.account.access, ref.id),
    );

  /** Runs that were not started here have no row, so that every process keeps their status itself. */
  const otherRuns = new LRUCache<string, ReportRun, ReportRef>({
    max: MAX_CACHED_RUNS,
    ttl: STATUS_LIFETIME_MS,
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context }) => readFromPlatform(context),
  });

  /** The reads of stored statuses in progress in this process, for all callers that want the same one. */
  const readsInProgress = new Map<string, Promise<ReportRun>>();

  function shareRead(key: string, read: () => Promise<ReportRun>): Promise<ReportRun> {
    const current = readsInProgress.get(key);
    if (current) return current;
    const started = read().finally(() => readsInProgress.delete(key));
    readsInProgress.set(key, started);
    return started;
  }

  async function readStored(ref: ReportRef): Promise<ReportRun> {
    const endsAt = performance.now() + PLATFORM_CALL_DEADLINE_MS;
    while (performance.now() < endsAt) {
      const stored = await beginStatusRead(ref.db, ref.account.row.client_id, ref.id);
      if (stored?.isFresh) return stored.run as ReportRun;
      if (!stored || stored.claim !== null) return readAndRecord(ref, stored?.claim);
      await sleep(RESULT_POLL_MS);
    }
    throw new PlatformFailure("timeout", "The platform did not respond in time", { retryable: true });
  }

  async function readAndRecord(ref: ReportRef, claim: string | null | undefined): Promise<ReportRun> {
    try {
      const run = await readFromPlatform(ref);
      await recordRun(ref.db, ref.account.row, run);
      return run;
    } catch (error) {
      // The caller needs the error of the read. A claim that is not released ends after 5 seconds.
      if (claim) await releaseStatusRead(ref.db, ref.id, claim).catch(() => undefined);
      throw error;
    }
  }

  const readStatus: ReportReader["readStatus"] = (ref) => {
    const { client_id, ad_account_id } = ref.account.row;
    const key = `${client_id} ${ad_account_id} ${ref.id}`;
    if (!ref.report) return otherRuns.forceFetch(key, { context: ref });
    return shareRead(key, () => readStored({ ...ref, db: forAllCallers(parts, ref).db }));
  };

  return {
    readStatus,
    async readRows(ref, page) {
      const { account, id } = ref;
      try {
        return await callForAccount({ ...parts, db: ref.db }, account, () =>
          insights.reportRows(account.access, id, page),
        );
      } catch (error) {
        if (!mayBeUnfinished(error)) throw error;
        if (isCompleted(await readStatus(ref))) throw error;
        return NO_ROWS;
      }
    },
  };
}

const NO_ROWS: PlatformListPage = { items: [], before: null, after: null, hasMore: false };

/** Verdicts with which the platform answers a request for rows that do not exist yet. */
const UNFINISHED_VERDICTS: readonly Verdict[] = ["invalid", "missing", "transient", "unusable_answer"];

const mayBeUnfinished = (error: unknown): boolean =>
  error instanceof PlatformFailure && UNFINISHED_VERDICTS.includes(error.verdict);
