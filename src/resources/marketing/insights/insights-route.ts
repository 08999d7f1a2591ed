import { callForAccount } from "../../../domain/ads/ad-account-access.ts";
import type { AdObjectParts } from "../../../domain/ads/ad-objects.ts";
import { toRequester } from "../../../domain/tenants/request-actor.ts";
import { bindToFilters, listReply, pageRequest } from "../../../http/lists.ts";
import { platformApiError } from "../../../http/platform-errors.ts";
import { route } from "../../../http/route.ts";
import { isTooMuchData } from "../../../platforms/ads/insights.ts";
import type { ListPageRequest } from "../../../platforms/client/list-pages.ts";
import { DEFAULT_INSIGHTS_FIELDS } from "../../../schema/ad-enumerations.ts";
import type { SecretBox } from "../../../security/secret-box.ts";
import { ACCOUNT_ERRORS, requireActiveAdAccount } from "../require-ad-account.ts";
import { CSV_EXAMPLE, type CsvExporter, requireNoPaging } from "./csv.ts";
import { toInsightsQuery } from "./read-query.ts";
import { DEFAULT_ROWS_PER_PAGE, type InsightsQueryDto, insightsQuery, insightsRows } from "./schema.ts";

export interface InsightsParts extends Omit<AdObjectParts, "db"> {
  secretBox: SecretBox;
}

export const insightsRoute = (parts: InsightsParts, exportCsv: CsvExporter) =>
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
    .filter((name) => !["limit", "after", "before"].includes(name))
    .map((name) => given[name as keyof InsightsQueryDto]);

const REPORT_HINT = "start a report with POST /api/marketing/insights/reports instead";

function recommendReport(error: unknown): never {
  throw isTooMuchData(error) ? platformApiError(error, { hint: REPORT_HINT }) : error;
}
