import type { Route } from "../../http/route.ts";
import { type DataDeletionParts, dataDeletionRoutes } from "./data-deletion-routes.ts";
import { type PlatformWebhookParts, platformWebhookRoutes } from "./webhook-routes.ts";

/** The endpoints that the platforms call. */
export const ingressRoutes = (parts: PlatformWebhookParts & DataDeletionParts): Route[] => [
  ...platformWebhookRoutes(parts),
  ...dataDeletionRoutes(parts),
];
