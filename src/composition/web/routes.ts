import { createPlatformLookup } from "../../domain/channels/channel-access.ts";
import { createLeadFetcher } from "../../domain/inbound/lead-fields.ts";
import { createWebhookIntake } from "../../domain/inbound/webhook-intake.ts";
import { createMessageIntake } from "../../domain/messages/accept-message.ts";
import { type ApiDocument, describeApi } from "../../http/openapi/describe-api.ts";
import { type Route, withTag } from "../../http/route.ts";
import { auditRoutes } from "../../resources/audit/routes.ts";
import { authRoutes } from "../../resources/auth/routes.ts";
import { channelRoutes } from "../../resources/channels/routes.ts";
import { consoleRoutes } from "../../resources/console/routes.ts";
import { docsRoutes } from "../../resources/docs/routes.ts";
import { embedRoutes } from "../../resources/embed/routes.ts";
import { eventRoutes } from "../../resources/events/routes.ts";
import { healthRoutes } from "../../resources/health/routes.ts";
import { ingressRoutes } from "../../resources/ingress/webhook-routes.ts";
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
import { batchRoutes } from "../../resources/outbound/batch-routes.ts";
import { outboundRoutes } from "../../resources/outbound/routes.ts";
import { setupRoutes } from "../../resources/setup/routes.ts";
import { statsRoutes } from "../../resources/stats/routes.ts";
import { templateRoutes } from "../../resources/templates/routes.ts";
import { userRoutes } from "../../resources/users/routes.ts";
import { webhookRoutes } from "../../resources/webhooks/routes.ts";
import { WEBHOOK_KEY } from "../../runtime/async/time-slices.ts";
import type { Config } from "../../runtime/config/config.ts";
import { sharedMetrics } from "../../runtime/forks.ts";
import {
  createAppSignatures,
  createEmbedStates,
  createSignedStates,
  createSigner,
} from "../../security/signatures-and-states.ts";
import {
  BODY_MEMORY,
  CONFIG,
  CONSOLE_COOKIE,
  CREDENTIAL_CACHES,
  DATABASE,
  DATABASE_PROBE,
  DESTINATIONS,
  EVENT_NOTIFIER,
  EVENT_POSTER,
  EVENT_STREAMS,
  IMAGE_THREADS,
  LOG,
  MESSAGE_NOTIFIER,
  METRICS,
  MIGRATION_CHECK,
  PASSWORDS,
  PLATFORMS,
  REDIS,
  RESOLVER,
  type Resolved,
  SECRET_BOX,
  SIGN_IN_LIMITER,
  STOPPING,
  TAGS,
  USER_TOKENS,
} from "../tokens.ts";

interface Resource {
  /** The tag of its routes in the OpenAPI document. */
  tag: string;
  routes(parts: RouteParts): Route[];
}

/** All resources; add a new one here. */
const RESOURCES: readonly Resource[] = [
  { tag: "Authentication", routes: authRoutes },
  { tag: "Setup", routes: setupRoutes },
  { tag: "API keys", routes: keyRoutes },
  { tag: "Users", routes: userRoutes },
  { tag: "Channels", routes: channelRoutes },
  { tag: "Embedded signup", routes: embedRoutes },
  { tag: "Messages", routes: outboundRoutes },
  { tag: "Batches", routes: batchRoutes },
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
  { tag: "Service", routes: consoleRoutes },
];

export function allRoutes(resolved: Resolved<typeof ROUTE_TOKENS>): Route[] {
  const parts = routeParts(resolved, () => describeApi(routes, { publicUrl: resolved.settings.PUBLIC_URL }));
  const routes = RESOURCES.flatMap((resource) => withTag(resource.tag, resource.routes(parts)));
  return routes;
}

export const ROUTE_TOKENS = {
  settings: CONFIG,
  db: DATABASE,
  probe: DATABASE_PROBE,
  metrics: METRICS,
  redis: REDIS,
  tags: TAGS,
  migrations: MIGRATION_CHECK,
  log: LOG,
  platforms: PLATFORMS,
  images: IMAGE_THREADS,
  notifier: EVENT_NOTIFIER,
  streams: EVENT_STREAMS,
  messageNotifier: MESSAGE_NOTIFIER,
  poster: EVENT_POSTER,
  passwords: PASSWORDS,
  bodyMemory: BODY_MEMORY,
  limitSignIns: SIGN_IN_LIMITER,
  caches: CREDENTIAL_CACHES,
  cookie: CONSOLE_COOKIE,
  secretBox: SECRET_BOX,
  tokens: USER_TOKENS,
  destinations: DESTINATIONS,
  resolver: RESOLVER,
  stopping: STOPPING,
} as const;

type RouteParts = ReturnType<typeof routeParts>;

/** The dependencies of the resources; each declares the ones it uses. None connects before its first use. */
function routeParts(
  { db, messageNotifier, caches, destinations, resolver, stopping, ...parts }: Resolved<typeof ROUTE_TOKENS>,
  describe: () => ApiDocument,
) {
  const { settings, metrics, notifier, platforms, secretBox, log } = parts;
  const webhookDb = db.forKey(WEBHOOK_KEY);
  return {
    ...parts,
    messageNotifier,
    forgetCredential: caches.forget,
    webhookIntake: createWebhookIntake({
      db: webhookDb,
      notifier,
      fetchLeads: createLeadFetcher({ db: webhookDb, secretBox, log, pages: platforms.social.pages }),
    }),
    intake: createMessageIntake({ db: db.forKey("messages"), notifier: messageNotifier }),
    platformOf: createPlatformLookup(db),
    metricsText: sharedMetrics(metrics),
    describe,
    stopping: stopping.signal,
    addresses: { destinations, resolver, publicUrl: settings.PUBLIC_URL },
    ...signing(settings),
    production: settings.NODE_ENV === "production",
    publicUrl: settings.PUBLIC_URL,
    retentionDays: settings.EVENT_RETENTION_DAYS,
    verifyToken: settings.PLATFORM_VERIFY_TOKEN,
    metricsToken: settings.METRICS_TOKEN,
  };
}

/** Signatures that depend only on the settings. */
const signing = ({ ENCRYPTION_KEYS, PLATFORM_APP_SECRET }: Config) => ({
  states: createSignedStates(createSigner(ENCRYPTION_KEYS, "oauth-state")),
  embedStates: createEmbedStates(createSignedStates(createSigner(ENCRYPTION_KEYS, "embed-state"))),
  signatures: createAppSignatures(PLATFORM_APP_SECRET),
});
