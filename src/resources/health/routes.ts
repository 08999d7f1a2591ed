import { ApiError, databaseUnusable } from "../../http/api-error.ts";
import { type Route, route } from "../../http/route.ts";
import type { MetricsText } from "../../runtime/metrics/metrics.ts";
import { packageVersion } from "../../runtime/package-root.ts";
import { anyQuery } from "../../schema/types.ts";
import { isBearerToken } from "../../security/bearer-token.ts";
import { createReadinessProbe, type ReadinessParts } from "./readiness.ts";
import { liveness, readiness } from "./schema.ts";

export interface HealthParts extends ReadinessParts {
  metricsText: MetricsText;
  metricsToken: string | undefined;
}

export function healthRoutes(parts: HealthParts): Route[] {
  const { metricsText, metricsToken } = parts;
  const version = packageVersion();
  const examineServers = createReadinessProbe(parts);
  return [
    route({
      method: "get",
      path: "/healthz",
      operationId: "getHealth",
      scope: "public",
      logLevel: "debug",
      summary: "Check that the process is alive",
      description: "The response does not depend on Postgres, Redis or a platform.",
      query: anyQuery,
      reply: liveness,
      handle: () => ({ status: "ok" as const, version }),
    }),
    route({
      method: "get",
      path: "/readyz",
      operationId: "getReadiness",
      scope: "public",
      logLevel: "debug",
      summary: "Check that requests can be served: 503 while Postgres does not answer or lacks migrations",
      description:
        "The response is 200 with `status` `degraded` while Redis does not answer or refuses writes: nothing is lost without it. With 503 the body has the fields of an error and these.",
      errors: ["temporarily_unavailable"],
      query: anyQuery,
      reply: readiness,
      async handle() {
        const { cause, ...servers } = await examineServers();
        if (servers.postgres !== "ok")
          throw databaseUnusable(servers.postgres, { extra: { status: "unavailable", ...servers }, cause });
        return { status: servers.redis === "ok" ? ("ready" as const) : ("degraded" as const), ...servers };
      },
    }),
    route({
      method: "get",
      path: "/metrics",
      operationId: "getMetrics",
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
