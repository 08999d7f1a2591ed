import { container, type DependencyContainer } from "tsyringe";
import { createOpenStreams, type OpenStreams } from "../../domain/events/stream/open-streams.ts";
import { createStreamPoller } from "../../domain/events/stream/poller.ts";
import { createApp } from "../../http/app.ts";
import type { CredentialScheme } from "../../http/credentials.ts";
import { apiKeySchemes, createCredentialCaches, userTokenSchemes } from "../../http/credentials.ts";
import { createIdempotency } from "../../http/idempotency.ts";
import { termsGate } from "../../http/pipeline.ts";
import { createRateLimit } from "../../http/rate-limit.ts";
import { createBodyMemory } from "../../http/request/body-memory.ts";
import { createUnsentAnswers } from "../../http/respond.ts";
import { createHttpServer, type HttpServer, IDLE_CONNECTION_GRACE_MS } from "../../http/server.ts";
import { createReadConnector } from "../../queue/redis.ts";
import { createStreamPlaces } from "../../queue/stream-places.ts";
import { createStreamSignals } from "../../queue/stream-signals.ts";
import { type Config, readConfig } from "../../runtime/config/config.ts";
import type { Environment } from "../../runtime/config/settings.ts";
import { REQUEST_DATABASE_TIMEOUT_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";
import { createForks } from "../../runtime/forks.ts";
import type { Log } from "../../runtime/log.ts";
import type { Worker } from "../../runtime/supervise.ts";
import { createValidator } from "../../schema/validate.ts";
import { createConsoleCookie } from "../../security/console-cookie.ts";
import { createPasswords } from "../../security/passwords.ts";
import { createSignInLimiter } from "../../security/sign-in-limits.ts";
import { createSigner } from "../../security/signatures-and-states.ts";
import { createUserTokens } from "../../security/user-tokens.ts";
import { ANONYMOUS_KEY, MIN_SHARED_POOL, sharePerKeyOf } from "../../store/database/connections.ts";
import type { Database } from "../../store/database/database.ts";
import { createMigrationCheck } from "../../store/database/migrations.ts";
import {
  createLoggedDatabase,
  createMetricsServer,
  registerEventPoster,
  registerPlatforms,
  registerShared,
  SHARED_TOKENS,
  sharedWorkers,
} from "../process.ts";
import {
  BODY_MEMORY,
  CONFIG,
  CONSOLE_COOKIE,
  CREDENTIAL_CACHES,
  CREDENTIALS,
  DATABASE,
  DATABASE_PROBE,
  EVENT_NOTIFIER,
  EVENT_POSTER,
  EVENT_STREAMS,
  GATES,
  HTTP_SERVER,
  IDLE_GRACE_MS,
  IMAGE_THREADS,
  LOG,
  MESSAGE_NOTIFIER,
  METRICS,
  MIGRATION_CHECK,
  PASSWORDS,
  PLATFORMS,
  provide,
  REDIS,
  type Resolved,
  ROUTES,
  resolve,
  resolveAll,
  SECRET_BOX,
  SIGN_IN_LIMITER,
  STOPPING,
  TAGS,
  USER_TOKENS,
  WATCHDOG,
  WORKERS,
} from "../tokens.ts";
import { createImageThreads } from "./image-threads.ts";
import { allRoutes, ROUTE_TOKENS } from "./routes.ts";

export function registerWeb(container: DependencyContainer): void {
  registerEventPoster(container);
  registerPlatforms(container);
  provide(container, DATABASE, (c) =>
    createLoggedDatabase(resolve(c, CONFIG), resolve(c, LOG), {
      statementTimeoutMs: REQUEST_DATABASE_TIMEOUT_MS,
      sharePerKey: sharePerKeyOf(resolve(c, CONFIG).DATABASE_POOL),
    }),
  );
  provide(container, DATABASE_PROBE, (c) =>
    createLoggedDatabase({ ...resolve(c, CONFIG), DATABASE_POOL: 1 }, resolve(c, LOG), {
      statementTimeoutMs: PROBE_STATEMENT_TIMEOUT_MS,
      keepsConnection: true,
    }),
  );
  provide(container, PASSWORDS, () => createPasswords());
  provide(container, USER_TOKENS, (c) => createUserTokens(resolve(c, CONFIG)));
  provide(container, MIGRATION_CHECK, (c) =>
    createMigrationCheck(resolve(c, DATABASE_PROBE), resolve(c, LOG)),
  );
  provide(container, SIGN_IN_LIMITER, (c) => createSignInLimiter(resolve(c, REDIS)));
  provide(container, CONSOLE_COOKIE, (c) => createConsoleCookie(resolve(c, CONFIG).PUBLIC_URL));
  provide(container, CREDENTIAL_CACHES, (c) =>
    createCredentialCaches(resolve(c, DATABASE).forKey(ANONYMOUS_KEY)),
  );
  provide(container, IMAGE_THREADS, (c) =>
    createImageThreads({
      threads: resolve(c, CONFIG).IMAGE_THREADS,
      log: resolve(c, LOG),
      metrics: resolve(c, METRICS),
    }),
  );
  provide(container, BODY_MEMORY, (c) => createBodyMemory(resolve(c, CONFIG).BODY_MEMORY_MB * MEGABYTE));
  provide(container, EVENT_STREAMS, (c) => createWebStreams(resolveAll(c, STREAM_TOKENS)));
  provide(container, ROUTES, (c) => allRoutes(resolveAll(c, ROUTE_TOKENS)));
  provide(container, CREDENTIALS, (c) => credentialSchemes(resolveAll(c, CREDENTIAL_TOKENS)));
  provide(container, GATES, (c) => ({ terms: termsGate(resolve(c, DATABASE)) }));
  provide(container, STOPPING, () => new AbortController());
  provide(container, IDLE_GRACE_MS, () => IDLE_CONNECTION_GRACE_MS);
  provide(container, HTTP_SERVER, (c) => createWebServer(resolveAll(c, SERVER_TOKENS)));
  provide(container, WORKERS, webWorkers);
}

/** The workers of web in start order. Waiting requests end first at shutdown: the server waits for all requests. */
function webWorkers(container: DependencyContainer): Worker[] {
  const parts = resolveAll(container, {
    ...SHARED_TOKENS,
    probe: DATABASE_PROBE,
    migrationCheck: MIGRATION_CHECK,
    poster: EVENT_POSTER,
    platforms: PLATFORMS,
    eventNotifier: EVENT_NOTIFIER,
    messageNotifier: MESSAGE_NOTIFIER,
    imageThreads: IMAGE_THREADS,
    server: HTTP_SERVER,
    stopping: STOPPING,
  });
  return [
    ...sharedWorkers(parts),
    databaseProbe(parts),
    parts.migrationCheck,
    { name: "event-poster", close: parts.poster.close },
    { name: "platforms", close: parts.platforms.close },
    parts.eventNotifier,
    parts.messageNotifier,
    parts.imageThreads,
    parts.server,
    { name: "waiting-requests", close: () => parts.stopping.abort() },
  ];
}

/** Registers the parent of several web processes, which only serves their aggregated metrics. */
export function registerWebForks(container: DependencyContainer): void {
  provide(container, WORKERS, (c) => {
    const { config, log, watchdog } = resolveAll(c, { config: CONFIG, log: LOG, watchdog: WATCHDOG });
    const forks = createForks(config.WEB_CONCURRENCY, log);
    return [watchdog, createMetricsServer(config, forks.metrics, log), forks];
  });
}

const STREAM_TOKENS = {
  config: CONFIG,
  db: DATABASE,
  redis: REDIS,
  tags: TAGS,
  metrics: METRICS,
  log: LOG,
  stopping: STOPPING,
} as const;

function createWebStreams(parts: Resolved<typeof STREAM_TOKENS>): OpenStreams {
  const { config, db, redis, tags, metrics, log, stopping } = parts;
  return createOpenStreams({
    poller: createStreamPoller({ db: db.forKey("event-streams"), log }),
    places: createStreamPlaces(redis, tags),
    signals: createStreamSignals({ redis, tags, connect: createReadConnector(config, redis) }),
    metrics,
    stopping: stopping.signal,
  });
}

/** A connection that does not answer for this long is replaced; a request for the readiness waits less. */
const PROBE_STATEMENT_TIMEOUT_MS = 2 * SECOND;

const MEGABYTE = 1_000_000;

interface ProbeParts {
  config: Config;
  probe: Database;
  log: Log;
}

/** Closes the probe's connection; warns when the pool is too small to be divided. */
const databaseProbe = ({ config: { DATABASE_POOL: pool }, probe, log }: ProbeParts): Worker => ({
  name: "postgres-probe",
  async start() {
    if (pool < MIN_SHARED_POOL) log.warn("postgres.pool_undersized", { pool });
  },
  close: () => probe.close(),
});

const CREDENTIAL_TOKENS = {
  db: DATABASE,
  caches: CREDENTIAL_CACHES,
  tokens: USER_TOKENS,
  cookie: CONSOLE_COOKIE,
  log: LOG,
} as const;

function credentialSchemes(parts: Resolved<typeof CREDENTIAL_TOKENS>): CredentialScheme[] {
  const db = parts.db.forKey(ANONYMOUS_KEY);
  return [...userTokenSchemes({ ...parts, db }), ...apiKeySchemes({ ...parts, db })];
}

const SERVER_TOKENS = {
  config: CONFIG,
  routes: ROUTES,
  db: DATABASE,
  redis: REDIS,
  credentials: CREDENTIALS,
  gates: GATES,
  metrics: METRICS,
  watchdog: WATCHDOG,
  secretBox: SECRET_BOX,
  bodyMemory: BODY_MEMORY,
  idleGraceMs: IDLE_GRACE_MS,
  log: LOG,
} as const;

function createWebServer(parts: Resolved<typeof SERVER_TOKENS>): HttpServer {
  const { config, routes, db, redis, credentials, gates, metrics, bodyMemory, log } = parts;
  const isHttps = config.PUBLIC_URL.startsWith("https:");
  const app = createApp(routes, {
    db,
    credentials,
    gates,
    rateLimit: createRateLimit({ perMinute: config.RATE_LIMIT_PER_MINUTE, redis, log }),
    cursorSigner: createSigner(config.ENCRYPTION_KEYS, "cursor"),
    validator: createValidator(),
    metrics,
    log,
    trustedProxies: config.TRUST_PROXY,
    isHttps,
    tracker: parts.watchdog.tracker,
    idempotency: createIdempotency(parts.secretBox),
    bodyMemory,
    unsentAnswers: createUnsentAnswers(),
  });
  return createHttpServer(app, {
    port: config.PORT,
    host: config.HOST,
    log,
    isHttps,
    idleGraceMs: parts.idleGraceMs,
    // Behind a proxy all connections have the proxy's address.
    maxConnectionsPerAddress: config.TRUST_PROXY > 0 ? 0 : config.MAX_CONNECTIONS_PER_ADDRESS,
  });
}

/** Valid settings that reach no server: descriptions are made from the route table alone. */
const PLACEHOLDERS = {
  DATABASE_URL: "postgres://herald@127.0.0.1:1/none",
  REDIS_URL: "redis://127.0.0.1:1",
  ENCRYPTION_KEYS: `none:${Buffer.alloc(32).toString("base64")}`,
  JWT_SECRET: "none".repeat(8),
};

/** Registers web without connecting anything, for programs that only describe it. */
export function registerDescribedWeb(env: Environment = {}) {
  const child = container.createChildContainer();
  registerShared(child, readConfig({ ...PLACEHOLDERS, ...env }), "docs");
  registerWeb(child);
  return child;
}
