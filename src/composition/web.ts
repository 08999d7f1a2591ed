import type { DependencyContainer } from "tsyringe";
import { pingRedis } from "../dispatch/redis.ts";
import { createApp } from "../http/app.ts";
import { type ApiDocument, describeApi } from "../http/openapi/describe-api.ts";
import { createRateLimit } from "../http/rate-limit.ts";
import { type Route, tagged } from "../http/route.ts";
import { httpServer } from "../http/server.ts";
import { docsRoutes } from "../resources/docs/routes.ts";
import { healthRoutes } from "../resources/health/routes.ts";
import { createForks, sharedMetrics } from "../runtime/forks.ts";
import { metricsServer } from "../runtime/metrics-server.ts";
import { createValidator } from "../schema/validate.ts";
import { createSigner } from "../security/derived-keys.ts";
import { sharedWorkers } from "./shared.ts";
import {
  CONFIG,
  CREDENTIALS,
  DATABASE,
  GATES,
  HTTP_SERVER,
  LOG,
  METRICS,
  provide,
  REDIS,
  ROUTES,
  resolve,
  WORKERS,
} from "./tokens.ts";

/** The OpenAPI document of every route that the product has. */
export const productDocument = (container: DependencyContainer): ApiDocument =>
  describeApi(resolve(container, ROUTES), { publicUrl: resolve(container, CONFIG).PUBLIC_URL });

/** The list of resources: a new one adds its line here. */
function allRoutes(container: DependencyContainer): Route[] {
  return [
    ...tagged(
      "Service",
      healthRoutes({
        pingPostgres: (deadline) => resolve(container, DATABASE).ping(deadline),
        pingRedis: (deadline) => pingRedis(resolve(container, REDIS), deadline),
        metrics: sharedMetrics(resolve(container, METRICS)),
        metricsToken: resolve(container, CONFIG).METRICS_TOKEN,
      }),
    ),
    ...tagged("Service", docsRoutes({ describe: () => productDocument(container) })),
  ];
}

export function registerWeb(container: DependencyContainer): void {
  provide(container, ROUTES, allRoutes);
  provide(container, CREDENTIALS, () => []);
  provide(container, GATES, () => ({}));
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
    });
    return httpServer(app, { port: config.PORT, host: config.HOST, log });
  });
  provide(container, WORKERS, (c) => [...sharedWorkers(c), resolve(c, HTTP_SERVER)]);
}

/** The parent of several web processes: it serves nothing but the metrics of all of them. */
export function registerWebForks(container: DependencyContainer): void {
  provide(container, WORKERS, (c) => {
    const [config, log] = [resolve(c, CONFIG), resolve(c, LOG)];
    const forks = createForks(config.WEB_CONCURRENCY, log);
    return [metricsServer(config, forks.metrics, log), forks];
  });
}
