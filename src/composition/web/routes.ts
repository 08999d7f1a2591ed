import type { DependencyContainer } from "tsyringe";
import { type Route, withTag } from "../../http/route.ts";
import { auditRoutes } from "../../resources/audit/routes.ts";
import { authRoutes } from "../../resources/auth/routes.ts";
import { channelRoutes } from "../../resources/channels/routes.ts";
import { docsRoutes } from "../../resources/docs/routes.ts";
import { embedRoutes } from "../../resources/embed/routes.ts";
import { eventRoutes } from "../../resources/events/routes.ts";
import { healthRoutes } from "../../resources/health/routes.ts";
import { ingressRoutes } from "../../resources/ingress/routes.ts";
import { keyRoutes } from "../../resources/keys/routes.ts";
import { adAccountRoutes } from "../../resources/marketing/ad-accounts/routes.ts";
import { adRoutes } from "../../resources/marketing/ads/routes.ts";
import { adSetRoutes } from "../../resources/marketing/adsets/routes.ts";
import { campaignRoutes } from "../../resources/marketing/campaigns/routes.ts";
import { creativeRoutes } from "../../resources/marketing/creatives/routes.ts";
import { enumRoutes } from "../../resources/marketing/enums/routes.ts";
import { insightsRoutes } from "../../resources/marketing/insights/routes.ts";
import { mediaRoutes } from "../../resources/marketing/media/routes.ts";
import { oauthRoutes } from "../../resources/marketing/oauth/routes.ts";
import { termsRoutes } from "../../resources/marketing/terms/routes.ts";
import { outboundRoutes } from "../../resources/outbound/routes.ts";
import { statsRoutes } from "../../resources/stats/routes.ts";
import { templateRoutes } from "../../resources/templates/routes.ts";
import { userRoutes } from "../../resources/users/routes.ts";
import { webhookRoutes } from "../../resources/webhooks/routes.ts";
import { type RouteParts, routeParts } from "./route-parts.ts";

interface Resource {
  /** The tag of its routes in the OpenAPI document. */
  tag: string;
  routes(parts: RouteParts): Route[];
}

/** All resources; add a new one here. */
const RESOURCES: readonly Resource[] = [
  { tag: "Authentication", routes: authRoutes },
  { tag: "API keys", routes: keyRoutes },
  { tag: "Users", routes: userRoutes },
  { tag: "Channels", routes: channelRoutes },
  { tag: "Embedded signup", routes: embedRoutes },
  { tag: "Messages", routes: outboundRoutes },
  { tag: "Templates", routes: templateRoutes },
  { tag: "Webhooks", routes: webhookRoutes },
  { tag: "Events", routes: eventRoutes },
  { tag: "Statistics", routes: statsRoutes },
  { tag: "Terms", routes: termsRoutes },
  { tag: "Ad accounts", routes: oauthRoutes },
  { tag: "Ad accounts", routes: adAccountRoutes },
  { tag: "Campaigns", routes: campaignRoutes },
  { tag: "Ad sets", routes: adSetRoutes },
  { tag: "Ads", routes: adRoutes },
  { tag: "Creatives", routes: creativeRoutes },
  { tag: "Media", routes: mediaRoutes },
  { tag: "Insights", routes: insightsRoutes },
  { tag: "Enumerations", routes: enumRoutes },
  { tag: "Audit log", routes: auditRoutes },
  { tag: "Platforms", routes: ingressRoutes },
  { tag: "Service", routes: healthRoutes },
  { tag: "Service", routes: docsRoutes },
];

export function allRoutes(container: DependencyContainer): Route[] {
  const parts = routeParts(container);
  return RESOURCES.flatMap(({ tag, routes }) => withTag(tag, routes(parts)));
}
