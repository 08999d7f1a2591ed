import { ApiError, databaseUnusable } from "../../http/api-error.ts";
import { type Route, route } from "../../http/route.ts";
import type { RedisClient } from "../../queue/redis.ts";
import { readRedisState } from "../../queue/redis-state.ts";
import { withTimeout } from "../../runtime/async/timeouts-and-retries.ts";
import { SECOND } from "../../runtime/durations.ts";
import type { MetricsText } from "../../runtime/metrics.ts";
import { packageVersion } from "../../runtime/package-root.ts";
import {
  POSTGRES_STATES,
  type PostgresState,
  READINESS_STATUSES,
  REDIS_STATES,
  type RedisState,
} from "../../schema/enumerations.ts";
import { anyQuery, object, oneOf, Type } from "../../schema/types.ts";
import { isBearerToken } from "../../security/secret-text.ts";
import type { Database } from "../../store/database/database.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import type { MigrationCheck } from "../../store/database/migrations.ts";

interface ReadinessParts {
  /** A connection of its own: the ones of the pool may all be in use. */
  probe: Pick<Database, "ping">;
  migrations: Pick<MigrationCheck, "missing">;
  redis: RedisClient;
  tags: readonly number[];
}

interface HealthParts extends ReadinessParts {
  metricsText: MetricsText;
  metricsToken: string | undefined;
}

export function healthRoutes(parts: HealthParts): Route[] {
  const { metricsText, metricsToken } = parts;
  const version = packageVersion();
  const probeServers = createReadinessProbe(parts);
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
        const { cause, ...servers } = await probeServers();
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

const liveness = object({ status: oneOf(["ok"]), version: Type.String({ examples: ["1.4.2"] }) });

const readiness = object({
  status: oneOf(READINESS_STATUSES, {
    description:
      "`degraded`: requests are served and nothing is lost, but sends and deliveries wait for Redis. `unavailable`: only with 503",
  }),
  postgres: oneOf(POSTGRES_STATES, { description: "`unmigrated`: the database lacks migrations" }),
  redis: oneOf(REDIS_STATES, { description: "`read_only`: Redis answers and refuses writes" }),
});

/** An answer is due within a second, whatever the servers do. */
const PROBE_TIMEOUT_MS = 0.8 * SECOND;
/** At least as long as a probe takes: probes do not overlap. */
const PROBE_INTERVAL_MS = 1 * SECOND;

interface PostgresFinding {
  postgres: PostgresState;
  /** Why Postgres is unavailable. */
  cause?: unknown;
}

type ServersFinding = PostgresFinding & { redis: RedisState };

/** Asks the servers once a second at most; the requests in between get the same answer. */
export function createReadinessProbe(parts: ReadinessParts): () => Promise<ServersFinding> {
  let finding: Promise<ServersFinding> | undefined;
  let askAgainAt = 0;
  return () => {
    if (finding === undefined || performance.now() >= askAgainAt) {
      askAgainAt = performance.now() + PROBE_INTERVAL_MS;
      finding = examineServers(parts);
    }
    return finding;
  };
}

/** Asks both servers at the same time. */
async function examineServers(parts: ReadinessParts): Promise<ServersFinding> {
  const { redis, tags } = parts;
  const [finding, { state }] = await Promise.all([
    examinePostgres(parts),
    readRedisState(redis, { tags, timeoutMs: PROBE_TIMEOUT_MS }),
  ]);
  return { ...finding, redis: state };
}

async function examinePostgres({ probe, migrations }: ReadinessParts): Promise<PostgresFinding> {
  try {
    const [missing] = await Promise.all([
      withTimeout(PROBE_TIMEOUT_MS, migrations.missing(), throwTimeout),
      probe.ping(PROBE_TIMEOUT_MS), // the check of the migrations may answer from its cache
    ]);
    return { postgres: missing.length > 0 ? "unmigrated" : "ok" };
  } catch (cause) {
    return { postgres: "unavailable", cause };
  }
}

function throwTimeout(): never {
  throw new DatabaseUnavailable(new Error(`no response within ${PROBE_TIMEOUT_MS} ms`));
}
