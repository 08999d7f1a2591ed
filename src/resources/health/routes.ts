import { ApiError } from "../../http/api-error.ts";
import { type Route, route } from "../../http/route.ts";
import { pingRedis, type RedisClient } from "../../queue/redis.ts";
import { SECOND } from "../../runtime/durations.ts";
import type { MetricsText } from "../../runtime/metrics/metrics.ts";
import { packageVersion } from "../../runtime/package-root.ts";
import { anyQuery } from "../../schema/types.ts";
import { isBearerToken } from "../../security/bearer-token.ts";
import type { Database } from "../../store/database/database.ts";
import { liveness, readiness } from "./schema.ts";

const PING_TIMEOUT_MS = 2 * SECOND;

export interface HealthParts {
  db: Pick<Database, "ping">;
  redis: RedisClient;
  metricsText: MetricsText;
  metricsToken: string | undefined;
}

export function healthRoutes({ db, redis, metricsText, metricsToken }: HealthParts): Route[] {
  const version = packageVersion();
  return [
    route({
      method: "get",
      path: "/healthz",
      scope: "public",
      summary: "Check that the process is alive",
      query: anyQuery,
      reply: liveness,
      handle: () => ({ status: "ok" as const, version }),
    }),
    route({
      method: "get",
      path: "/readyz",
      scope: "public",
      summary: "Check that requests can be served: 503 while Postgres does not answer",
      errors: ["temporarily_unavailable"],
      query: anyQuery,
      reply: readiness,
      async handle() {
        const [postgresPing, redisPing] = await Promise.allSettled([
          db.ping(PING_TIMEOUT_MS),
          pingRedis(redis, PING_TIMEOUT_MS),
        ]);
        if (postgresPing.status === "rejected") throw postgresPing.reason;
        return redisPing.status === "fulfilled"
          ? { status: "ready" as const, postgres: "ok" as const, redis: "ok" as const }
          : { status: "degraded" as const, postgres: "ok" as const, redis: "away" as const };
      },
    }),
    route({
      method: "get",
      path: "/metrics",
      scope: "public",
      summary: "Get Prometheus metrics",
      description:
        "Requires `METRICS_TOKEN` as the Bearer token. The response is 404 while `METRICS_TOKEN` is not set.",
      errors: ["unauthorized", "not_found"],
      query: anyQuery,
      reply: { mediaType: metricsText.contentType },
      async handle({ header }) {
        if (metricsToken === undefined)
          throw new ApiError("not_found", "There is no page or endpoint at this address");
        if (!isBearerToken(header("authorization"), metricsToken))
          throw new ApiError("unauthorized", "Send METRICS_TOKEN as the Bearer token");
        return metricsText.text();
      },
    }),
  ];
}
