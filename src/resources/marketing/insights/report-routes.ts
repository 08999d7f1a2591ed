import { startReport } from "../../../domain/ads/insights-reports.ts";
import { createReportReader, type ReportReader } from "../../../domain/ads/read-insights-report.ts";
import { toRequester } from "../../../domain/tenants/request-actor.ts";
import { bindToFilters, listReply, pageRequest } from "../../../http/lists.ts";
import { type Route, route } from "../../../http/route.ts";
import { insightsReportRun } from "../../../schema/insights-reports.ts";
import { MAX_FIELD_BYTES } from "../ad-object-fields.ts";
import { ACCOUNT_ERRORS, requireActiveAdAccount } from "../require-ad-account.ts";
import { CSV_EXAMPLE, type CsvExporter, requireNoPaging } from "./csv.ts";
import type { InsightsParts } from "./insights-route.ts";
import { toInsightsQuery } from "./read-query.ts";
import { requireReport } from "./require-report.ts";
import {
  DEFAULT_ROWS_PER_PAGE,
  insightsRows,
  newReport,
  reportParams,
  reportQuery,
  resultsQuery,
} from "./schema.ts";

export function reportRoutes(parts: InsightsParts, exportCsv: CsvExporter): Route[] {
  const reader = createReportReader(parts);
  return [startRoute(parts), statusRoute(parts, reader), resultsRoute(parts, reader, exportCsv)];
}

const PATH = "/api/marketing/insights/reports";

const startRoute = (parts: InsightsParts) =>
  route({
    method: "post",
    path: PATH,
    operationId: "createInsightsReport",
    scope: "marketing:read",
    summary: "Start an insights report, which the ad platform computes in the background",
    description:
      "A report has a higher limit than a query. When it ends, the event `insights.report.completed` or `insights.report.failed` is sent. Then read its results.",
    errors: ACCOUNT_ERRORS,
    body: newReport,
    maxFieldBytes: MAX_FIELD_BYTES,
    status: 202,
    reply: insightsReportRun,
    location: ({ report_run_id }) => `${PATH}/${report_run_id}`,
    async handle(context) {
      const { body } = context;
      const own = { ...parts, db: context.db };
      const query = toInsightsQuery(body);
      const account = await requireActiveAdAccount(own, toRequester(context), body.ad_account_id);
      return startReport(own, account, query);
    },
  });

const statusRoute = (parts: InsightsParts, reader: ReportReader) =>
  route({
    method: "get",
    path: `${PATH}/{reportRunId}`,
    operationId: "getInsightsReport",
    scope: "marketing:read",
    summary: "Read the status of an insights report",
    description:
      "The status may be up to 5 seconds old. `Job Failed` also stands for a run that the platform skipped. After 30 days the platform has no such run: 404 `platform_object_not_found`.",
    errors: ACCOUNT_ERRORS,
    params: reportParams,
    query: reportQuery,
    reply: insightsReportRun,
    async handle(context) {
      const { params, query } = context;
      const requested = { id: params.reportRunId, adAccountId: query.ad_account_id };
      return reader.readStatus(
        await requireReport({ ...parts, db: context.db }, toRequester(context), requested),
      );
    },
  });

const resultsRoute = (parts: InsightsParts, reader: ReportReader, exportCsv: CsvExporter) =>
  route({
    method: "get",
    path: `${PATH}/{reportRunId}/results`,
    operationId: "getInsightsReportResults",
    scope: "marketing:read",
    summary: "List the rows of an insights report",
    description:
      "Before the report has completed, the list is empty. With `Accept: text/csv` the response has all rows, without paging; a client exports one CSV file at a time, and another one meanwhile is 429 `rate_limited`.",
    errors: [...ACCOUNT_ERRORS, "rate_limited"],
    params: reportParams,
    query: resultsQuery,
    reply: insightsRows,
    csv: CSV_EXAMPLE,
    async handle(context) {
      const { params, query, cursors, wantsCsv } = context;
      const requested = { id: params.reportRunId, adAccountId: query.ad_account_id };
      const reportCursors = bindToFilters(cursors, [requested.id]);
      const page = pageRequest({ limit: DEFAULT_ROWS_PER_PAGE, ...query }, reportCursors);
      if (wantsCsv) requireNoPaging(query);
      const ref = await requireReport({ ...parts, db: context.db }, toRequester(context), requested);
      if (wantsCsv)
        return exportCsv({
          ...context,
          readPage: (page) => reader.readRows(ref, page),
          selection: { ...ref.report },
        });
      const { items, ...positions } = await reader.readRows(ref, page);
      const { currency } = ref.account.row;
      return { ...listReply({ data: items, ...positions }, reportCursors), currency };
    },
  });
