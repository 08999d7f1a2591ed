import type { DependencyContainer } from "tsyringe";
import { createPlatformLookup } from "../../domain/channels/channel-platforms.ts";
import { createMessageIntake } from "../../domain/messages/accept-message.ts";
import { type ApiDocument, describeApi } from "../../http/openapi/describe-api.ts";
import { type Route, withTag } from "../../http/route.ts";
import { pingRedis } from "../../queue/redis.ts";
import { auditRoutes } from "../../resources/audit/routes.ts";
import { authRoutes } from "../../resources/auth/routes.ts";
import { channelRoutes } from "../../resources/channels/routes.ts";
import { docsRoutes } from "../../resources/docs/routes.ts";
import { eventRoutes } from "../../resources/events/routes.ts";
import { type HealthParts, healthRoutes } from "../../resources/health/routes.ts";
import { ingressRoutes } from "../../resources/ingress/routes.ts";
import { keyRoutes } from "../../resources/keys/routes.ts";
import { adAccountRoutes } from "../../resources/marketing/ad-accounts/routes.ts";
import { type OauthParts, oauthRoutes } from "../../resources/marketing/oauth/routes.ts";
import { termsRoutes } from "../../resources/marketing/terms/routes.ts";
import { type OutboundParts, outboundRoutes } from "../../resources/outbound/routes.ts";
import { type TemplateParts, templateRoutes } from "../../resources/templates/routes.ts";
import { userRoutes } from "../../resources/users/routes.ts";
import { type WebhookParts, webhookRoutes } from "../../resources/webhooks/routes.ts";
import { sharedMetrics } from "../../runtime/forks.ts";
import { createAppSignatures } from "../../security/app-signatures.ts";
import type { AttemptLimiter } from "../../security/attempt-limiter.ts";
import { createConsoleCookie } from "../../security/console-cookie.ts";
import { createSigner } from "../../security/derived-keys.ts";
import { createSignedStates } from "../../security/signed-states.ts";
import {
  ATTEMPT_LIMITER,
  CONFIG,
  DATABASE,
  DESTINATIONS,
  EVENT_NOTIFIER,
  EVENT_POSTER,
  LOG,
  MESSAGE_NOTIFIER,
  METRICS,
  PASSWORDS,
  PLATFORMS,
  REDIS,
  RESOLVER,
  ROUTES,
  resolve,
  SECRET_BOX,
  USER_TOKENS,
} from "../tokens.ts";
import { lazyNotifier } from "./queue-notifiers.ts";

/** The OpenAPI document of every route that the product has. */
export const productDocument = (container: DependencyContainer): ApiDocument =>
  describeApi(resolve(container, ROUTES), { publicUrl: resolve(container, CONFIG).PUBLIC_URL });

/** The list of resources: a new one adds its line here. */
export function allRoutes(container: DependencyContainer): Route[] {
  const config = resolve(container, CONFIG);
  const [db, passwords] = [resolve(container, DATABASE), resolve(container, PASSWORDS)];
  const { issue } = resolve(container, USER_TOKENS);
  // Made at the first try: the table must not connect to anything.
  const limitAttempts: AttemptLimiter = (identity, attempt) =>
    resolve(container, ATTEMPT_LIMITER)(identity, attempt);
  const notifier = lazyNotifier(container, EVENT_NOTIFIER);
  const platforms = () => resolve(container, PLATFORMS);
  const secretBox = resolve(container, SECRET_BOX);
  const production = config.NODE_ENV === "production";
  const signatures = createAppSignatures(config.PLATFORM_APP_SECRET);
  const { PUBLIC_URL: publicUrl, PLATFORM_VERIFY_TOKEN: verifyToken } = config;
  const [log, metrics] = [resolve(container, LOG), resolve(container, METRICS)];
  const cookie = createConsoleCookie(config.PUBLIC_URL);
  return [
    ...withTag("Authentication", authRoutes({ db, passwords, limitAttempts, cookie, issue })),
    ...withTag("API keys", keyRoutes({ db, production })),
    ...withTag("Users", userRoutes({ db, passwords, limitAttempts })),
    ...withTag("Channels", channelRoutes({ db, secretBox, platforms })),
    ...withTag("Messages", outboundRoutes(outboundParts(container))),
    ...withTag("Templates", templateRoutes(templateParts(container))),
    ...withTag("Webhooks", webhookRoutes(webhookParts(container))),
    ...withTag("Events", eventRoutes({ db, notifier })),
    ...withTag("Terms", termsRoutes({ db })),
    ...withTag("Ad accounts", oauthRoutes(oauthParts(container))),
    ...withTag("Ad accounts", adAccountRoutes({ db, secretBox, log, platforms })),
    ...withTag("Audit log", auditRoutes({ db })),
    ...withTag(
      "Platforms",
      ingressRoutes({ db, notifier, signatures, verifyToken, publicUrl, log, metrics }),
    ),
    ...withTag("Service", healthRoutes(healthParts(container))),
    ...withTag("Service", docsRoutes({ describe: () => productDocument(container) })),
  ];
}

function oauthParts(container: DependencyContainer): OauthParts {
  const settings = resolve(container, CONFIG);
  return {
    db: resolve(container, DATABASE),
    secretBox: resolve(container, SECRET_BOX),
    states: createSignedStates(createSigner(settings.ENCRYPTION_KEYS, "oauth-state")),
    settings,
    platforms: () => resolve(container, PLATFORMS),
  };
}

function outboundParts(container: DependencyContainer): OutboundParts {
  const db = resolve(container, DATABASE);
  const intake = createMessageIntake({ db, notifier: lazyNotifier(container, MESSAGE_NOTIFIER) });
  return { db, intake, platformOf: createPlatformLookup(db) };
}

const templateParts = (container: DependencyContainer): TemplateParts => ({
  db: resolve(container, DATABASE),
  secretBox: resolve(container, SECRET_BOX),
  log: resolve(container, LOG),
  chat: () => resolve(container, PLATFORMS).chat,
});

function webhookParts(container: DependencyContainer): WebhookParts {
  const { PUBLIC_URL: publicUrl } = resolve(container, CONFIG);
  return {
    db: resolve(container, DATABASE),
    secretBox: resolve(container, SECRET_BOX),
    poster: resolve(container, EVENT_POSTER),
    log: resolve(container, LOG),
    addresses: {
      destinations: resolve(container, DESTINATIONS),
      resolver: resolve(container, RESOLVER),
      publicUrl,
    },
  };
}

const healthParts = (container: DependencyContainer): HealthParts => ({
  pingPostgres: (deadline) => resolve(container, DATABASE).ping(deadline),
  pingRedis: (deadline) => pingRedis(resolve(container, REDIS), deadline),
  metrics: sharedMetrics(resolve(container, METRICS)),
  metricsToken: resolve(container, CONFIG).METRICS_TOKEN,
});
