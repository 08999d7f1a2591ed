import { callForAccount } from "../../../domain/ads/ad-account-access.ts";
import {
  createReportReader,
  type ReportReader,
  type ReportRef,
  startReport,
} from "../../../domain/ads/insights-reports.ts";
import { createSummaryReader } from "../../../domain/ads/insights-summary.ts";
import { type Requester, toRequester } from "../../../domain/tenants/audit-actors.ts";
import { ApiError, invalidField, platformApiError } from "../../../http/api-error.ts";
import { bindToFilters, listReply, pageRequest } from "../../../http/lists.ts";
import { type Route, route } from "../../../http/route.ts";
import { type InsightsQuery, isTooMuchData } from "../../../platforms/ads/insights.ts";
import type { ListPageRequest } from "../../../platforms/client/list-pages.ts";
import { MAX_NUMBER_CHARS, tryParseJson } from "../../../runtime/json/json.ts";
import { findExceededLimit } from "../../../runtime/json/json-limits.ts";
import { DEFAULT_INSIGHTS_FIELDS } from "../../../schema/ad-enumerations.ts";
import { insightsReportRun } from "../../../schema/ads.ts";
import type { SecretBox } from "../../../security/secret-box.ts";
import { findReport } from "../../../store/ads/insights-reports.ts";
import type { Database } from "../../../store/database/database.ts";
import { MAX_FIELD_BYTES } from "../ad-object-fields.ts";
import type { AdObjectRouteParts } from "../ad-object-routes.ts";
import { ACCOUNT_ERRORS, requireActiveAdAccount } from "../require-ad-account.ts";
import {
  CSV_EXAMPLE,
  type CsvExporter,
  createCsvExporter,
  isPagingParameter,
  requireNoPaging,
} from "./csv.ts";
import {
  DEFAULT_ROWS_PER_PAGE,
  type InsightsQueryDto,
  insightsQuery,
  insightsRows,
  insightsSummary,
  type NewReportDto,
  newReport,
  reportParams,
  reportQuery,
  resultsQuery,
  summaryQuery,
} from "./schema.ts";

export function insightsRoutes(parts: AdObjectRouteParts): Route[] {
  const exportCsv = createCsvExporter();
  return [insightsRoute(parts, exportCsv), summaryRoute(parts), ...reportRoutes(parts, exportCsv)];
}

const insightsRoute = (parts: AdObjectRouteParts, exportCsv: CsvExporter) =>
  route({
    method: "get",
    path: "/api/marketing/insights",
    operationId: "getInsights",
    scope: "marketing:read",
    summary: "Query the delivery metrics of an account, campaign, ad set or ad",
    description:
      "For many rows, start a report instead. With `Accept: text/csv` the response has all rows, without paging; a client exports one CSV file at a time, and another one meanwhile is 429 `rate_limited`. Money in the rows is in major units of the currency, unlike budgets. Without delivery there are no rows.",
    errors: [...ACCOUNT_ERRORS, "rate_limited"],
    query: insightsQuery,
    reply: insightsRows,
    csv: CSV_EXAMPLE,
    async handle(context) {
      const { query: given, cursors, wantsCsv } = context;
      const own = { ...parts, db: context.db };
      const query = toInsightsQuery(given);
      const rowCursors = bindToFilters(cursors, filtersOf(given));
      const page = pageRequest({ limit: DEFAULT_ROWS_PER_PAGE, ...given }, rowCursors);
      if (wantsCsv) requireNoPaging(given);
      const account = await requireActiveAdAccount(own, toRequester(context), given.ad_account_id);
      const { insights } = parts.platforms.ads;
      const readPage = (page: ListPageRequest) =>
        callForAccount(own, account, () => insights.rows(account.access, query, page)).catch(recommendReport);
      const { fields = DEFAULT_INSIGHTS_FIELDS, breakdowns } = query;
      if (wantsCsv) return exportCsv({ ...context, readPage, selection: { fields, breakdowns } });
      const { items, ...positions } = await readPage(page);
      return { ...listReply({ data: items, ...positions }, rowCursors), currency: account.row.currency };
    },
  });

/** Everything that selects rows, in the order of the declaration. */
const filtersOf = (given: InsightsQueryDto): unknown[] =>
  Object.keys(insightsQuery.properties)
    .filter((name) => !isPagingParameter(name))
    .map((name) => given[name as keyof InsightsQueryDto]);

const REPORT_HINT = "start a report with POST /api/marketing/insights/reports instead";

function recommendReport(error: unknown): never {
  throw isTooMuchData(error) ? platformApiError(error, { hint: REPORT_HINT }) : error;
}

function summaryRoute(parts: AdObjectRouteParts): Route {
  const readSummary = createSummaryReader(parts);
  return route({
    method: "get",
    path: "/api/marketing/insights/summary",
    operationId: "getInsightsSummary",
    scope: "marketing:read",
    summary: "Compare the delivery of an ad account with the period before",
    description: "The summary may be up to a minute old.",
    errors: ACCOUNT_ERRORS,
    query: summaryQuery,
    reply: insightsSummary,
    async handle(context) {
      const { query, db } = context;
      const account = await requireActiveAdAccount(
        { ...parts, db },
        toRequester(context),
        query.ad_account_id,
      );
      return readSummary({ db, account, preset: query.date_preset });
    },
  });
}

const REPORTS_PATH = "/api/marketing/insights/reports";

function reportRoutes(parts: AdObjectRouteParts, exportCsv: CsvExporter): Route[] {
  const reader = createReportReader(parts);
  return [
    startReportRoute(parts),
    reportStatusRoute(parts, reader),
    reportResultsRoute(parts, reader, exportCsv),
  ];
}

const startReportRoute = (parts: AdObjectRouteParts) =>
  route({
    method: "post",
    path: REPORTS_PATH,
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
    location: ({ report_run_id }) => `${REPORTS_PATH}/${report_run_id}`,
    async handle(context) {
      const { body } = context;
      const own = { ...parts, db: context.db };
      const query = toInsightsQuery(body);
      const account = await requireActiveAdAccount(own, toRequester(context), body.ad_account_id);
      return startReport(own, account, query);
    },
  });

const reportStatusRoute = (parts: AdObjectRouteParts, reader: ReportReader) =>
  route({
    method: "get",
    path: `${REPORTS_PATH}/{reportRunId}`,
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

const reportResultsRoute = (parts: AdObjectRouteParts, reader: ReportReader, exportCsv: CsvExporter) =>
  route({
    method: "get",
    path: `${REPORTS_PATH}/{reportRunId}/results`,
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

interface ReportParts {
  db: Database;
  secretBox: SecretBox;
}

interface RequestedReport {
  id: string;
  adAccountId: string | undefined;
}

/**
 * Finds the account of a report run. 400 for a run that this client did not start, unless the request names the account;
 * 404 for a run that another client started, or one of another account.
 */
async function requireReport(
  parts: ReportParts,
  requester: Requester,
  { id, adAccountId }: RequestedReport,
): Promise<ReportRef> {
  const found = await findReport(parts.db, id);
  const report = found?.client_id === requester.clientId ? found : undefined;
  const requested = adAccountId ?? report?.ad_account_id;
  if (requested === undefined)
    throw invalidField(
      "/ad_account_id",
      "ad_account_id is required: your client did not start this report through the API",
    );
  const account = await requireActiveAdAccount(parts, requester, requested);
  if (found && (!report || report.ad_account_id !== requested))
    throw new ApiError("platform_object_not_found", "The ad account has no such report");
  return { db: parts.db, account, id, report };
}

/** The platform's query of an API request for rows or for a report. */
function toInsightsQuery(given: InsightsQueryDto | NewReportDto): InsightsQuery {
  const { object_id, level, fields, date_preset, since, until, time_increment, filtering } = given;
  return {
    objectId: object_id,
    level,
    fields: namesIn(fields),
    datePreset: date_preset,
    timeRange: since !== undefined && until !== undefined ? { since, until } : undefined,
    timeIncrement: time_increment === undefined ? undefined : String(time_increment),
    breakdowns: namesIn(given.breakdowns),
    actionBreakdowns: namesIn(given.action_breakdowns),
    filtering: typeof filtering === "string" ? readFiltering(filtering) : filtering,
    sort: namesIn(given.sort),
  };
}

/** The names of a comma-separated list, each once. */
const namesIn = (list: string | undefined): string[] | undefined =>
  list === undefined
    ? undefined
    : [...new Set(list.split(",").map((name) => name.trim()))].filter((name) => name !== "");

const FILTERING_LIMITS = { maxDepth: 20, maxValues: 5_000, maxNumberChars: MAX_NUMBER_CHARS };

function readFiltering(text: string): object[] {
  const conditions = findExceededLimit(Buffer.from(text), FILTERING_LIMITS) ? undefined : tryParseJson(text);
  if (!Array.isArray(conditions) || !conditions.every(isCondition))
    throw invalidField("/filtering", "filtering must be the JSON text of a list of objects");
  return conditions;
}

const isCondition = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
