import type { DependencyContainer } from "tsyringe";
import { rememberPlatforms } from "../../domain/channels/channel-platforms.ts";
import { createIntake } from "../../domain/messages/accept-message.ts";
import { createDoorbell, type Doorbell } from "../../queue/queue-notifier.ts";
import { createStreams, type Lane, type QueueRef } from "../../queue/streams.ts";
import { pingRedis } from "../../queue/redis.ts";
import { createApp } from "../../http/app.ts";
import type { CredentialScheme } from "../../http/caller.ts";
import { apiKeyScheme } from "../../http/credentials/api-key.ts";
import { userTokenSchemes } from "../../http/credentials/user-token.ts";
import { createIdempotency } from "../../http/idempotency.ts";
import { type ApiDocument, describeApi } from "../../http/openapi/describe-api.ts";
import { createRateLimit } from "../../http/rate-limit.ts";
import { type Route, tagged } from "../../http/route.ts";
import { httpServer } from "../../http/server.ts";
import { adAccountRoutes } from "../../resources/marketing/ad-accounts/routes.ts";
import { auditRoutes } from "../../resources/audit/routes.ts";
import { authRoutes } from "../../resources/auth/routes.ts";
import { channelRoutes } from "../../resources/channels/routes.ts";
import { docsRoutes } from "../../resources/docs/routes.ts";
import { eventRoutes } from "../../resources/events/routes.ts";
import { type HealthParts, healthRoutes } from "../../resources/health/routes.ts";
import { ingressRoutes } from "../../resources/ingress/routes.ts";
import { keyRoutes } from "../../resources/keys/routes.ts";
import { type OauthParts, oauthRoutes } from "../../resources/marketing/oauth/routes.ts";
import { type OutboundParts, outboundRoutes } from "../../resources/outbound/routes.ts";
import { type TemplateParts, templateRoutes } from "../../resources/templates/routes.ts";
import { termsRoutes } from "../../resources/marketing/terms/routes.ts";
import { userRoutes } from "../../resources/users/routes.ts";
import { type WebhookParts, webhookRoutes } from "../../resources/webhooks/routes.ts";
import { createForks, sharedMetrics } from "../../runtime/forks.ts";
import { metricsServer } from "../../runtime/metrics/metrics-server.ts";
import type { Worker } from "../../runtime/supervise.ts";
import { createValidator } from "../../schema/validate.ts";
import { createAppSignatures } from "../../security/app-signatures.ts";
import { createConsoleCookie } from "../../security/console-cookie.ts";
import { createSigner } from "../../security/derived-keys.ts";
import { createPasswords } from "../../security/passwords.ts";
import { createSignedStates } from "../../security/signed-states.ts";
import { createTryLimit, type TryLimit } from "../../security/try-limit.ts";
import { createUserTokens } from "../../security/user-tokens.ts";
import type { Database } from "../../store/database/database.ts";
import { unqueueSends } from "../../store/messages/claim-sends.ts";
import { unqueue } from "../../store/events/sweep-deliveries.ts";
import { termsGate } from "../../domain/tenants/terms.ts";
import { platformConnections, registerPlatforms } from "../platforms.ts";
import { registerPosting } from "../event-poster.ts";
import { sharedWorkers } from "../shared.ts";
import {
  CONFIG,
  CREDENTIALS,
  DATABASE,
  DESTINATIONS,
  DOORBELL,
  EVENT_POSTER,
  GATES,
  HTTP_SERVER,
  LOG,
  METRICS,
  OUTBOUND_DOORBELL,
  PARTITIONS,
  PASSWORDS,
  PLATFORMS,
  provide,
  REDIS,
  RESOLVER,
  ROUTES,
  resolve,
  SECRET_BOX,
  type Token,
  TRY_LIMIT,
  USER_TOKENS,
  WORKERS,
} from "../tokens.ts";

/** The OpenAPI document of every route that the product has. */
export const productDocument = (container: DependencyContainer): ApiDocument =>
  describeApi(resolve(container, ROUTES), { publicUrl: resolve(container, CONFIG).PUBLIC_URL });

/** Resolved when it is first asked: the table of routes must not connect to anything. */
const doorbellIn = <R extends QueueRef>(
  container: DependencyContainer,
  name: Token<Doorbell<R> & Worker>,
): Doorbell<R> => ({
  epoch: () => resolve(container, name).epoch(),
  ring: (refs) => resolve(container, name).ring(refs),
});

/** The list of resources: a new one adds its line here. */
function allRoutes(container: DependencyContainer): Route[] {
  const config = resolve(container, CONFIG);
  const [db, passwords] = [resolve(container, DATABASE), resolve(container, PASSWORDS)];
  const { issue } = resolve(container, USER_TOKENS);
  // Made at the first try: the table must not connect to anything.
  const tryLimit: TryLimit = (who, attempt) => resolve(container, TRY_LIMIT)(who, attempt);
  const doorbell = doorbellIn(container, DOORBELL);
  const platforms = () => resolve(container, PLATFORMS);
  const secretBox = resolve(container, SECRET_BOX);
  const production = config.NODE_ENV === "production";
  const signatures = createAppSignatures(config.PLATFORM_APP_SECRET);
  const { PUBLIC_URL: publicUrl, PLATFORM_VERIFY_TOKEN: verifyToken } = config;
  const [log, metrics] = [resolve(container, LOG), resolve(container, METRICS)];
  const cookie = createConsoleCookie(config.PUBLIC_URL);
  return [
    ...tagged("Authentication", authRoutes({ db, passwords, tryLimit, cookie, issue })),
    ...tagged("API keys", keyRoutes({ db, production })),
    ...tagged("Users", userRoutes({ db, passwords, tryLimit })),
    ...tagged("Channels", channelRoutes({ db, secretBox, platforms })),
    ...tagged("Messages", outboundRoutes(outboundParts(container))),
    ...tagged("Templates", templateRoutes(templateParts(container))),
    ...tagged("Webhooks", webhookRoutes(webhookParts(container))),
    ...tagged("Events", eventRoutes({ db, doorbell })),
    ...tagged("Terms", termsRoutes({ db })),
    ...tagged("Ad accounts", oauthRoutes(oauthParts(container))),
    ...tagged("Ad accounts", adAccountRoutes({ db, secretBox, log, platforms })),
    ...tagged("Audit log", auditRoutes({ db })),
    ...tagged("Platforms", ingressRoutes({ db, doorbell, signatures, verifyToken, publicUrl, log, metrics })),
    ...tagged("Service", healthRoutes(healthParts(container))),
    ...tagged("Service", docsRoutes({ describe: () => productDocument(container) })),
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
  const intake = createIntake({ db, doorbell: doorbellIn(container, OUTBOUND_DOORBELL) });
  return { db, intake, platformOf: rememberPlatforms(db) };
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

/** `takeBack`: says of rows that they are in no queue. */
function doorbellOf<R extends QueueRef>(
  container: DependencyContainer,
  lane: Lane,
  takeBack: (db: Database, refs: readonly R[]) => Promise<void>,
) {
  const [redis, db] = [resolve(container, REDIS), resolve(container, DATABASE)];
  const streams = createStreams(redis, resolve(container, PARTITIONS));
  const parts = { redis, streams, lane, log: resolve(container, LOG) };
  return createDoorbell<R>({ ...parts, unqueue: (refs) => takeBack(db, refs) });
}

function credentialSchemes(container: DependencyContainer): CredentialScheme[] {
  const [db, log] = [resolve(container, DATABASE), resolve(container, LOG)];
  return [...userTokenSchemes({ db, tokens: resolve(container, USER_TOKENS), log }), apiKeyScheme(db, log)];
}

export function registerWeb(container: DependencyContainer): void {
  provide(container, PASSWORDS, () => createPasswords());
  registerPosting(container);
  registerPlatforms(container);
  provide(container, USER_TOKENS, (c) => createUserTokens(resolve(c, CONFIG)));
  provide(container, TRY_LIMIT, (c) => createTryLimit(resolve(c, REDIS)));
  provide(container, DOORBELL, (c) => doorbellOf(c, "events", unqueue));
  provide(container, OUTBOUND_DOORBELL, (c) => doorbellOf(c, "outbound", unqueueSends));
  provide(container, ROUTES, allRoutes);
  provide(container, CREDENTIALS, credentialSchemes);
  provide(container, GATES, (c) => ({ terms: termsGate(resolve(c, DATABASE)) }));
  provide(container, HTTP_SERVER, (c) => {
    const [config, log] = [resolve(c, CONFIG), resolve(c, LOG)];
    const app = createApp(resolve(c, ROUTES), {
      credentials: resolve(c, CREDENTIALS),
      gates: resolve(c, GATES),
      rateLimit: createRateLimit({ perMinute: config.RATE_LIMIT_PER_MINUTE, redis: resolve(c, REDIS), log }),
      cursorSigner: createSigner(config.ENCRYPTION_KEYS, "cursor"),
      validator: createValidator(),
      metrics: resolve(c, METRICS),
      log,
      trustedProxies: config.TRUST_PROXY,
      idempotency: createIdempotency(resolve(c, SECRET_BOX)),
    });
    return httpServer(app, { port: config.PORT, host: config.HOST, log });
  });
  provide(container, WORKERS, (c) => [
    ...sharedWorkers(c),
    { name: "event-poster", close: () => resolve(c, EVENT_POSTER).close() },
    platformConnections(c),
    resolve(c, DOORBELL),
    resolve(c, OUTBOUND_DOORBELL),
    resolve(c, HTTP_SERVER),
  ]);
}

/** The parent of several web processes: it serves nothing but the metrics of all of them. */
export function registerWebForks(container: DependencyContainer): void {
  provide(container, WORKERS, (c) => {
    const [config, log] = [resolve(c, CONFIG), resolve(c, LOG)];
    const forks = createForks(config.WEB_CONCURRENCY, log);
    return [metricsServer(config, forks.metrics, log), forks];
  });
}
