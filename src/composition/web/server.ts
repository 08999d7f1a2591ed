import type { DependencyContainer } from "tsyringe";
import { termsGate } from "../../http/admission.ts";
import { createApp } from "../../http/app.ts";
import { createUnsentAnswers } from "../../http/connections/unsent-answers.ts";
import { createCredentialCaches } from "../../http/credentials/caches.ts";
import { createIdempotency } from "../../http/idempotency.ts";
import { createRateLimit } from "../../http/rate-limit.ts";
import { createBodyMemory } from "../../http/request/body-memory.ts";
import { createHttpServer, type HttpServer } from "../../http/server.ts";
import { REQUEST_DATABASE_TIMEOUT_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";
import type { Worker } from "../../runtime/supervise.ts";
import { createValidator } from "../../schema/validate.ts";
import { createConsoleCookie } from "../../security/console-cookie.ts";
import { createSigner } from "../../security/derived-keys.ts";
import { createPasswords } from "../../security/passwords.ts";
import { createSignInLimiter } from "../../security/sign-in-limits.ts";
import { createUserTokens } from "../../security/user-tokens.ts";
import { ANONYMOUS_KEY, MIN_SHARED_POOL, sharePerKeyOf } from "../../store/database/connections.ts";
import { createMigrationCheck } from "../../store/database/migration-check.ts";
import { eventPosterConnections, registerEventPoster } from "../event-poster.ts";
import { platformConnections, registerPlatforms } from "../platforms.ts";
import { createLoggedDatabase, sharedWorkers } from "../shared.ts";
import {
  BODY_MEMORY,
  CONFIG,
  CONSOLE_COOKIE,
  CREDENTIAL_CACHES,
  CREDENTIALS,
  DATABASE,
  DATABASE_PROBE,
  EVENT_NOTIFIER,
  GATES,
  HTTP_SERVER,
  IMAGE_THREADS,
  LOG,
  MESSAGE_NOTIFIER,
  METRICS,
  MIGRATION_CHECK,
  PASSWORDS,
  provide,
  REDIS,
  ROUTES,
  resolve,
  SECRET_BOX,
  SIGN_IN_LIMITER,
  USER_TOKENS,
  WATCHDOG,
  WORKERS,
} from "../tokens.ts";
import { credentialSchemes } from "./credentials.ts";
import { createImageThreads } from "./image-threads.ts";
import { allRoutes } from "./routes.ts";

/** A connection that does not answer for this long is replaced; a request for the readiness waits less. */
const PROBE_STATEMENT_TIMEOUT_MS = 2 * SECOND;

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
  provide(container, ROUTES, allRoutes);
  provide(container, CREDENTIALS, credentialSchemes);
  provide(container, GATES, (c) => ({ terms: termsGate(resolve(c, DATABASE)) }));
  provide(container, HTTP_SERVER, httpServer);
  provide(container, WORKERS, (c) => [
    ...sharedWorkers(c),
    databaseProbe(c),
    resolve(c, MIGRATION_CHECK),
    eventPosterConnections(c),
    platformConnections(c),
    resolve(c, EVENT_NOTIFIER),
    resolve(c, MESSAGE_NOTIFIER),
    resolve(c, IMAGE_THREADS),
    resolve(c, HTTP_SERVER),
  ]);
}

/** Closes the probe's connection; warns when the pool is too small to be divided. */
const databaseProbe = (c: DependencyContainer): Worker => ({
  name: "postgres-probe",
  async start() {
    const { DATABASE_POOL } = resolve(c, CONFIG);
    if (DATABASE_POOL < MIN_SHARED_POOL)
      resolve(c, LOG).warn("postgres.pool_undersized", { pool: DATABASE_POOL });
  },
  close: () => resolve(c, DATABASE_PROBE).close(),
});

const MEGABYTE = 1_000_000;

function httpServer(c: DependencyContainer): HttpServer {
  const [config, redis, log] = [resolve(c, CONFIG), resolve(c, REDIS), resolve(c, LOG)];
  const isHttps = config.PUBLIC_URL.startsWith("https:");
  const app = createApp(resolve(c, ROUTES), {
    db: resolve(c, DATABASE),
    credentials: resolve(c, CREDENTIALS),
    gates: resolve(c, GATES),
    rateLimit: createRateLimit({ perMinute: config.RATE_LIMIT_PER_MINUTE, redis, log }),
    cursorSigner: createSigner(config.ENCRYPTION_KEYS, "cursor"),
    validator: createValidator(),
    metrics: resolve(c, METRICS),
    log,
    trustedProxies: config.TRUST_PROXY,
    isHttps,
    tracker: resolve(c, WATCHDOG).tracker,
    idempotency: createIdempotency(resolve(c, SECRET_BOX)),
    bodyMemory: resolve(c, BODY_MEMORY),
    unsentAnswers: createUnsentAnswers(),
  });
  return createHttpServer(app, {
    port: config.PORT,
    host: config.HOST,
    log,
    isHttps,
    // Behind a proxy all connections have the proxy's address.
    maxConnectionsPerAddress: config.TRUST_PROXY > 0 ? 0 : config.MAX_CONNECTIONS_PER_ADDRESS,
  });
}
