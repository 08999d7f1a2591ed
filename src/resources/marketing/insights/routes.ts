import type { Route } from "../../../http/route.ts";
import { createCsvExporter } from "./csv.ts";
import { type InsightsParts, insightsRoute } from "./insights-route.ts";
import { reportRoutes } from "./report-routes.ts";
import { summaryRoute } from "./summary-route.ts";

export function insightsRoutes(parts: InsightsParts): Route[] {
  const exportCsv = createCsvExporter();
  return [insightsRoute(parts, exportCsv), summaryRoute(parts), ...reportRoutes(parts, exportCsv)];
}
