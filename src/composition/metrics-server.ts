import type { Config } from "../runtime/config/config.ts";
import type { Log } from "../runtime/logging/log.ts";
import type { MetricsText } from "../runtime/metrics/metrics.ts";
import { metricsServer } from "../runtime/metrics/metrics-server.ts";
import type { Worker } from "../runtime/supervise.ts";
import { isBearerToken } from "../security/bearer-token.ts";

/** Without a METRICS_TOKEN the server listens on loopback only and asks for nothing. */
export const createMetricsServer = (settings: Config, metrics: MetricsText, log: Log): Worker =>
  metricsServer({
    settings,
    metrics,
    log,
    isAuthorized: (header) =>
      settings.METRICS_TOKEN === undefined || isBearerToken(header, settings.METRICS_TOKEN),
  });
