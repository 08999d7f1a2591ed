import { DEFAULT_INSIGHTS_FIELDS } from "../../schema/ad-enumerations.ts";
import { type Fields, formBody, numberOf, omitNullish, textOf } from "../bodies.ts";
import type { PlatformClient } from "../client/client.ts";
import type { ListPageRequest, PlatformListPage } from "../client/list-pages.ts";
import { isInvalid, PlatformFailure } from "../errors/failure.ts";
import { type AdAccess, accountSender, type Ownership } from "./access.ts";

interface TimeRange {
  /** The first day, such as 2026-09-01. */
  since: string;
  /** The last day. */
  until: string;
}

/** The metrics to report and how to group them. Money in the rows is in major units. */
export interface InsightsQuery {
  /** A campaign, ad set or ad; the whole account when absent. */
  objectId?: string | undefined;
  level?: string | undefined;
  fields?: readonly string[] | undefined;
  datePreset?: string | undefined;
  /** Takes precedence over `datePreset`. */
  timeRange?: TimeRange | undefined;
  /** One row for each; takes precedence over `timeRange`. */
  timeRanges?: readonly TimeRange[] | undefined;
  timeIncrement?: string | undefined;
  breakdowns?: readonly string[] | undefined;
  actionBreakdowns?: readonly string[] | undefined;
  filtering?: readonly unknown[] | undefined;
  sort?: readonly string[] | undefined;
}

/** A run of a report. A run at 100 percent may still be running. */
export interface ReportRun {
  report_run_id: string;
  async_status: string;
  async_percent_completion: number;
  error_code?: number;
  error_message?: string;
}

export interface Insights {
  /** Returns the rows unchanged. */
  rows(access: AdAccess, query: InsightsQuery, page?: ListPageRequest): Promise<PlatformListPage>;
  /** Returns the id of the report run. */
  startReport(access: AdAccess, query: InsightsQuery): Promise<string>;
  readReport(access: AdAccess, runId: string): Promise<ReportRun>;
  /** Reads up to MAX_CALLS_PER_BATCH runs; each result is the run or the reason why it was not read. */
  readReports(access: AdAccess, runIds: readonly string[]): Promise<(ReportRun | PlatformFailure)[]>;
  reportRows(access: AdAccess, runId: string, page?: ListPageRequest): Promise<PlatformListPage>;
}

/** Report runs have it, and ad objects do not. */
const RUN_OWN_FIELD = "async_status";

/** Campaigns, ad sets and ads have it; report runs and creatives do not. */
const OBJECT_OWN_FIELD = "effective_status";

const RUN_FIELDS = "id,account_id,async_status,async_percent_completion,error_code,error_message";

export function createInsights(client: PlatformClient, ownership: Ownership): Insights {
  const senderFor = (access: AdAccess) => accountSender(client, access, "ads_insights");
  const edgeOf = async (access: AdAccess, { objectId }: InsightsQuery) => {
    if (objectId !== undefined) await ownership.check(access, objectId, OBJECT_OWN_FIELD);
    return `/${objectId ?? access.account}/insights`;
  };
  return {
    async rows(access, query, page = {}) {
      return senderFor(access).page(await edgeOf(access, query), toParams(query), page);
    },
    async startReport(access, query) {
      const path = await edgeOf(access, query);
      const { report_run_id } = await senderFor(access).create(path, formBody(toParams(query)));
      return ownership.remember(access, report_run_id, RUN_OWN_FIELD);
    },
    async readReport(access, runId) {
      const read = senderFor(access).get(`/${runId}`, { fields: RUN_FIELDS });
      const run = await read.catch(async (error) => {
        if (isInvalid(error)) await ownership.check(access, runId, RUN_OWN_FIELD); // "missing" for another kind of object
        throw error;
      });
      ownership.confirm(access, runId, { accountId: run.account_id, ownField: RUN_OWN_FIELD });
      return toReportRun(runId, run);
    },
    async readReports(access, runIds) {
      const paths = runIds.map((runId) => `/${runId}`);
      const results = await senderFor(access).getEach(paths, { fields: RUN_FIELDS });
      return results.map((result, index) =>
        result instanceof PlatformFailure ? result : toReportRun(runIds[index] as string, result),
      );
    },
    async reportRows(access, runId, page = {}) {
      await ownership.check(access, runId, RUN_OWN_FIELD);
      return senderFor(access).page(`/${runId}/insights`, {}, page);
    },
  };
}

const toParams = (query: InsightsQuery): Fields => ({
  fields: (query.fields ?? DEFAULT_INSIGHTS_FIELDS).join(),
  level: query.level,
  date_preset: query.timeRange ? undefined : query.datePreset,
  time_range: query.timeRanges ? undefined : query.timeRange,
  time_ranges: query.timeRanges,
  time_increment: query.timeIncrement,
  breakdowns: query.breakdowns?.join(),
  action_breakdowns: query.actionBreakdowns?.join(),
  filtering: query.filtering,
  sort: query.sort,
});

/** True when a query has more rows than the platform computes at once; a report has a higher limit. */
export const isTooMuchData = (error: unknown): error is PlatformFailure => {
  if (!(error instanceof PlatformFailure) || !error.platformError) return false;
  const { code, subcode, message } = error.platformError;
  return code === TOO_MUCH_DATA || subcode === TOO_MUCH_DATA || /reduce the amount of data/i.test(message);
};

const TOO_MUCH_DATA = 1487534;

/** A skipped job expired before it ran, so it is reported as failed. */
function toReportRun(runId: string, run: Fields): ReportRun {
  const skipped = run.async_status === "Job Skipped";
  const failed = skipped || run.async_status === "Job Failed";
  const message =
    textOf(run.error_message) ?? (skipped ? "The report expired before it ran; start it again" : undefined);
  return {
    report_run_id: runId,
    async_status: skipped ? "Job Failed" : (textOf(run.async_status) ?? "Job Not Started"),
    async_percent_completion: numberOf(run.async_percent_completion) ?? 0,
    ...(failed ? omitNullish({ error_code: numberOf(run.error_code), error_message: message }) : {}),
  };
}
