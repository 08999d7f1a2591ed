import type { InsightsQuery, ReportRun } from "../../platforms/ads/insights.ts";
import { DEFAULT_INSIGHTS_FIELDS } from "../../schema/ad-enumerations.ts";
import {
  finishReport,
  insertReport,
  type ReportRow,
  recordStatus,
} from "../../store/ads/insights-reports.ts";
import type { Database } from "../../store/database/database.ts";
import { type EventDraft, recordEvents } from "../events/record-events.ts";
import { type AdAccountAccess, callForAccount } from "./ad-account-access.ts";
import type { AdObjectParts } from "./ad-objects.ts";

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

const [COMPLETED_STATUS, FAILED_STATUS] = ["Job Completed", "Job Failed"] as const;

/** True when the rows of the run can be read. */
export const isCompleted = ({ async_status }: ReportRun): boolean => async_status === COMPLETED_STATUS;

/** True when the run has completed or failed. */
export const hasEnded = ({ async_status }: ReportRun): boolean => FINAL_EVENTS.has(async_status);

/** Stores a status that was read. The end of a run is stored together with its event, once. */
export async function recordRun(
  db: Database,
  report: Pick<ReportRow, "client_id" | "ad_account_id">,
  run: ReportRun,
): Promise<void> {
  const type = FINAL_EVENTS.get(run.async_status);
  if (!type) return recordStatus(db, run.report_run_id, run);
  await db.transaction(async (tx) => {
    if (await finishReport(tx, run.report_run_id, run)) await recordEvents(tx, [toDraft(type, report, run)]);
  });
}

const FINAL_EVENTS: ReadonlyMap<string, EventDraft["type"]> = new Map([
  [COMPLETED_STATUS, "insights.report.completed"],
  [FAILED_STATUS, "insights.report.failed"],
]);

const toDraft = (
  type: EventDraft["type"],
  { client_id: clientId, ad_account_id: adAccountId }: Pick<ReportRow, "client_id" | "ad_account_id">,
  data: ReportRun,
): EventDraft => ({ clientId, type, key: "marketing", adAccountId, data });

/** The run as it is reported when the platform does not have it any more. */
export const expiredRun = ({ id }: Pick<ReportRow, "id">): ReportRun => ({
  report_run_id: id,
  async_status: FAILED_STATUS,
  async_percent_completion: 0,
  error_message: "The ad platform does not have the report any more; start it again",
});
