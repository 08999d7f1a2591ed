import type { DependencyContainer } from "tsyringe";
import { termsGate } from "../../http/admission.ts";
import { createApp } from "../../http/app.ts";
import { createCredentialCaches } from "../../http/credentials/caches.ts";
import { createIdempotency } from "../../http/idempotency.ts";
import { createRateLimit } from "../../http/rate-limit.ts";
import { createBodyMemory } from "../../http/request/body-memory.ts";
import { createHttpServer, type HttpServer } from "../../http/server.ts";
import { createUnsentAnswers } from "../../http/unsent-answers.ts";
import { REQUEST_DATABASE_TIMEOUT_MS } from "../../runtime/deadlines.ts";
import { createValidator } from "../../schema/validate.ts";
import { createConsoleCookie } from "../../security/console-cookie.ts";
import { createSigner } from "../../security/derived-keys.ts";
import { createPasswords } from "../../security/passwords.ts";
import { createSignInLimiter } from "../../security/sign-in-limits.ts";
import { createUserTokens } from "../../security/user-tokens.ts";
import { createMigrationCheck } from "../../store/database/migration-check.ts";
import { eventPosterConnections, registerEventPoster } from "../event-poster.ts";
import { platformConnections, registerPlatforms } from "../platforms.ts";
import { registerQueueNotifiers } from "../queue-notifiers.ts";
import { createLoggedDatabase, sharedWorkers } from "../shared.ts";
import {
  BODY_MEMORY,
  CONFIG,
  CONSOLE_COOKIE,
  CREDENTIAL_CACHES,
  CREDENTIALS,
  DATABASE,
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

export function registerWeb(container: DependencyContainer): void {
  registerEventPoster(container);
  registerPlatforms(container);
  registerQueueNotifiers(container);
  provide(container, DATABASE, (c) =>
    createLoggedDatabase(resolve(c, CONFIG), resolve(c, LOG), REQUEST_DATABASE_TIMEOUT_MS),
  );
  provide(container, PASSWORDS, () => createPasswords());
  provide(container, USER_TOKENS, (c) => createUserTokens(resolve(c, CONFIG)));
  provide(container, MIGRATION_CHECK, (c) => createMigrationCheck(resolve(c, DATABASE), resolve(c, LOG)));
  provide(container, SIGN_IN_LIMITER, (c) => createSignInLimiter(resolve(c, REDIS)));
  provide(container, CONSOLE_COOKIE, (c) => createConsoleCookie(resolve(c, CONFIG).PUBLIC_URL));
  provide(container, CREDENTIAL_CACHES, (c) => createCredentialCaches(resolve(c, DATABASE)));
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
    resolve(c, MIGRATION_CHECK),
    eventPosterConnections(c),
    platformConnections(c),
    resolve(c, EVENT_NOTIFIER),
    resolve(c, MESSAGE_NOTIFIER),
    resolve(c, IMAGE_THREADS),
    resolve(c, HTTP_SERVER),
  ]);
}

const MEGABYTE = 1_000_000;

function httpServer(c: DependencyContainer): HttpServer {
  const [config, redis, log] = [resolve(c, CONFIG), resolve(c, REDIS), resolve(c, LOG)];
  const isHttps = config.PUBLIC_URL.startsWith("https:");
  const app = createApp(resolve(c, ROUTES), {
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
