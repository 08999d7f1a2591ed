import type { Route } from "../../../http/route.ts";
import { type InsightsParts, insightsRoute } from "./insights-route.ts";
import { reportRoutes } from "./report-routes.ts";
import { summaryRoute } from "./summary-route.ts";

export const insightsRoutes = (parts: InsightsParts): Route[] => [
  insightsRoute(parts),
  summaryRoute(parts),
  ...reportRoutes(parts),
];
