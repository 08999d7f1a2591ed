import { createSummaryReader } from "../../../domain/ads/insights-summary.ts";
import { toRequester } from "../../../domain/tenants/request-actor.ts";
import { type Route, route } from "../../../http/route.ts";
import { ACCOUNT_ERRORS, requireActiveAdAccount } from "../require-ad-account.ts";
import type { InsightsParts } from "./insights-route.ts";
import { insightsSummary, summaryQuery } from "./summary-schema.ts";

export function summaryRoute(parts: InsightsParts): Route {
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
