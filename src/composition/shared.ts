import type { DependencyContainer } from "tsyringe";
import { tablePartitions } from "../../workers/table-partitions.ts";
import { awaitConnection, createProducerClient } from "../queue/redis.ts";
import { createRedisState } from "../queue/redis-state.ts";
import { createEventNotifier, createMessageNotifier, tagsOf } from "../queue/wake-ups.ts";
import { withTimeout } from "../runtime/async/with-timeout.ts";
import type { Config } from "../runtime/config/config.ts";
import { SECOND } from "../runtime/durations.ts";
import { createLog, type Log } from "../runtime/logging/log.ts";
import { createMetrics } from "../runtime/metrics/metrics.ts";
import type { Worker } from "../runtime/supervise.ts";
import { createWatchdog } from "../runtime/watchdog/watchdog.ts";
import { createSecretBox } from "../security/secret-box.ts";
import { createDatabase, type Database, type DatabaseOptions } from "../store/database/database.ts";
import { createMetricsServer } from "./metrics-server.ts";
import {
  CONFIG,
  DATABASE,
  EVENT_NOTIFIER,
  LOG,
  MESSAGE_NOTIFIER,
  METRICS,
  provide,
  REDIS,
  REDIS_STATE,
  resolve,
  SECRET_BOX,
  TAGS,
  WATCHDOG,
} from "./tokens.ts";

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
    createRedisState({
      redis: resolve(c, REDIS),
      tags: resolve(c, TAGS),
      log: resolve(c, LOG),
      metrics: resolve(c, METRICS),
    }),
  );
  provide(container, TAGS, () => tagsOf(config));
  provide(container, EVENT_NOTIFIER, (c) => createEventNotifier(resolve(c, REDIS), resolve(c, TAGS)));
  provide(container, MESSAGE_NOTIFIER, (c) => createMessageNotifier(resolve(c, REDIS), resolve(c, TAGS)));
}

/** Logs connections that break while they are idle. */
export const createLoggedDatabase = (config: Config, log: Log, options?: DatabaseOptions): Database =>
  createDatabase(config, (error) => log.warn("postgres.connection_lost", { err: error }), options);

/** The workers that every process starts first and closes last: watchdog, metrics, connections, Redis state, partitions. */
export function sharedWorkers(container: DependencyContainer): Worker[] {
  const [db, redis] = [resolve(container, DATABASE), resolve(container, REDIS)];
  const log = resolve(container, LOG);
  const closeDatabase = () => withTimeout(2 * SECOND, db.close(), () => log.warn("postgres.close_timed_out"));
  return [
    resolve(container, WATCHDOG),
    createMetricsServer(resolve(container, CONFIG), resolve(container, METRICS), log),
    { name: "postgres", close: closeDatabase },
    { name: "redis", start: () => awaitConnection(redis, 2 * SECOND), close: () => redis.disconnect() },
    resolve(container, REDIS_STATE),
    tablePartitions({ settings: resolve(container, CONFIG), db, log }),
  ];
}
