import type { DependencyContainer } from "tsyringe";
import { tablePartitions } from "../../workers/table-partitions.ts";
import { createEventPoster } from "../delivery/post-event.ts";
import { createDestinations, createResolver } from "../delivery/ssrf-guard.ts";
import type { RecordCall } from "../platforms/client/client.ts";
import { createPlatforms } from "../platforms/platforms.ts";
import { createPauses } from "../queue/platform-pauses.ts";
import { awaitConnection, createProducerClient } from "../queue/redis.ts";
import { createRedisState } from "../queue/redis-state.ts";
import { createEventNotifier, createMessageNotifier, tagsOf } from "../queue/wake-ups.ts";
import { withTimeout } from "../runtime/async/timeouts-and-retries.ts";
import type { Config } from "../runtime/config/config.ts";
import type { Environment } from "../runtime/config/settings.ts";
import { SECOND } from "../runtime/durations.ts";
import { createLog, type Log } from "../runtime/log.ts";
import { createMetrics, type Metrics, type MetricsText, metricsServer } from "../runtime/metrics.ts";
import type { Worker } from "../runtime/supervise.ts";
import { createWatchdog } from "../runtime/watchdog.ts";
import { createSecretBox } from "../security/secret-box.ts";
import { isBearerToken } from "../security/secret-text.ts";
import { createClockCheck } from "../store/database/clock.ts";
import { createDatabase, type Database, type DatabaseOptions } from "../store/database/database.ts";
import { createPostgresState } from "../store/database/postgres-state.ts";
import { runWorkers, tryReadConfig } from "./run-workers.ts";
import {
  CONFIG,
  DATABASE,
  DESTINATIONS,
  EVENT_NOTIFIER,
  EVENT_POSTER,
  LOG,
  MESSAGE_NOTIFIER,
  METRICS,
  PLATFORMS,
  provide,
  REDIS,
  REDIS_STATE,
  RESOLVER,
  type Resolved,
  resolve,
  resolveAll,
  SECRET_BOX,
  TAGS,
  WATCHDOG,
  WORKERS,
} from "./tokens.ts";

interface ProcessParts {
  name: string;
  env: Environment;
  /** Registers the parts of this process beyond the shared ones, including WORKERS. */
  register(container: DependencyContainer): void;
}

/** Runs a process from reading its settings to its exit code. */
export async function runProcess(
  container: DependencyContainer,
  { name, env, register }: ProcessParts,
): Promise<number> {
  const config = tryReadConfig(name, env);
  if (!config) return 1;
  registerShared(container, config, name);
  register(container);
  const metrics = resolve(container, METRICS);
  metrics.collectProcess();
  return runWorkers({
    workers: resolve(container, WORKERS),
    log: resolve(container, LOG),
    onReady: () => metrics.ready.set(1),
  });
}

/** Registers the parts that every process has. */
export function registerShared(container: DependencyContainer, config: Config, processName: string): void {
  provide(container, CONFIG, () => config);
  provide(container, LOG, () => createLog({ ...config, process: processName }));
  provide(container, METRICS, () => createMetrics(processName));
  provide(container, WATCHDOG, (c) =>
    createWatchdog({ settings: config, process: processName, log: resolve(c, LOG) }),
  );
  provide(container, DATABASE, (c) => createLoggedDatabase(config, resolve(c, LOG)));
  provide(container, SECRET_BOX, () => createSecretBox(config.ENCRYPTION_KEYS));
  provide(container, REDIS, () => createProducerClient(config));
  provide(container, REDIS_STATE, (c) =>
    createRedisState(resolveAll(c, { redis: REDIS, tags: TAGS, log: LOG, metrics: METRICS })),
  );
  provide(container, TAGS, () => tagsOf(config));
  provide(container, EVENT_NOTIFIER, (c) => createEventNotifier(resolve(c, REDIS), resolve(c, TAGS)));
  provide(container, MESSAGE_NOTIFIER, (c) => createMessageNotifier(resolve(c, REDIS), resolve(c, TAGS)));
}

/** The tokens of `registerShared` that the workers of every process need. */
export const SHARED_TOKENS = {
  config: CONFIG,
  db: DATABASE,
  log: LOG,
  metrics: METRICS,
  redis: REDIS,
  redisState: REDIS_STATE,
  tags: TAGS,
  secretBox: SECRET_BOX,
  watchdog: WATCHDOG,
} as const;

/** The workers that every process starts first and closes last: watchdog, metrics, connections, Redis state, clock, partitions. */
export function sharedWorkers(parts: Resolved<typeof SHARED_TOKENS>): Worker[] {
  const { config, db, log, metrics, redis, redisState, watchdog } = parts;
  metrics.addCollector(createConnectionGauges({ db, metrics }));
  const closeDatabase = () => withTimeout(2 * SECOND, db.close(), () => log.warn("postgres.close_timed_out"));
  const postgresState = createPostgresState({ db, log, metrics });
  const postgresWorker: Worker = {
    ...postgresState,
    async close() {
      await postgresState.close?.();
      await closeDatabase();
    },
  };
  return [
    watchdog,
    createMetricsServer(config, metrics, log),
    postgresWorker,
    { name: "redis", start: () => awaitConnection(redis, 2 * SECOND), close: () => redis.disconnect() },
    redisState,
    createClockCheck({ db, log }),
    tablePartitions({ settings: config, db, log }),
  ];
}

/** Logs connections that break while they are idle. */
export const createLoggedDatabase = (config: Config, log: Log, options?: DatabaseOptions): Database =>
  createDatabase(config, (error) => log.warn("postgres.connection_lost", { err: error }), options);

/** Returns a function that sets the gauges of the connections to Postgres. */
const createConnectionGauges =
  ({ db, metrics }: { db: Database; metrics: Metrics }) =>
  async (): Promise<void> => {
    const { used, waiting, max } = db.usage();
    metrics.postgresUsed.set(used);
    metrics.postgresWaiting.set(waiting);
    metrics.postgresMax.set(max);
  };

/** Without a METRICS_TOKEN the server listens on loopback only and asks for nothing. */
export const createMetricsServer = (settings: Config, metrics: MetricsText, log: Log): Worker =>
  metricsServer({
    settings,
    metrics,
    log,
    isAuthorized: (header) =>
      settings.METRICS_TOKEN === undefined || isBearerToken(header, settings.METRICS_TOKEN),
  });

/** Registers the platform clients; `isBackground` for a process that runs background jobs only. */
export function registerPlatforms(container: DependencyContainer, { isBackground = false } = {}): void {
  provide(container, PLATFORMS, (c) => {
    const pauses = createPauses(resolve(c, REDIS));
    const recordCall = createCallRecorder(resolve(c, METRICS));
    return createPlatforms(resolve(c, CONFIG), { pauses, log: resolve(c, LOG), recordCall, isBackground });
  });
}

const createCallRecorder =
  ({ platformCalls, platformCallSeconds }: Metrics): RecordCall =>
  ({ platform, outcomes, ms }) => {
    for (const outcome of outcomes) platformCalls.inc({ platform, outcome });
    if (outcomes.some((outcome) => outcome !== "paused"))
      platformCallSeconds.observe({ platform }, ms / SECOND);
  };

/** Registers the parts that post events to the clients' backends and restrict their destinations. */
export function registerEventPoster(container: DependencyContainer): void {
  provide(container, DESTINATIONS, (c) => createDestinations(resolve(c, CONFIG).PRIVATE_DESTINATIONS));
  provide(container, RESOLVER, (c) => createResolver({ destinations: resolve(c, DESTINATIONS) }));
  provide(container, EVENT_POSTER, (c) =>
    createEventPoster({
      destinations: resolve(c, DESTINATIONS),
      resolver: resolve(c, RESOLVER),
      // One connection per slot and origin, so that a slow client does not starve others on the same host.
      connections: resolve(c, CONFIG).DISPATCHER_CONCURRENCY,
    }),
  );
}
