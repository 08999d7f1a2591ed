import { once } from "node:events";
import { type ChainableCommander, Cluster, Redis } from "ioredis";
import { withTimeout } from "../runtime/async/with-timeout.ts";
import type { Config } from "../runtime/config/config.ts";
import { SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/logging/log.ts";
import { createOutageLogger } from "../runtime/logging/outage-logger.ts";

type Settings = Pick<Config, "REDIS_URL" | "REDIS_TLS_VERIFY">;

export type RedisClient = Redis | Cluster;

/** Backs off from 200 ms, for ever: Redis may be away at the start and at any time after. */
const backOff = (maxDelayMs: number) => (attempt: number) => Math.min(200 * 2 ** (attempt - 1), maxDelayMs);

/**
 * The client of everything that must not wait for Redis: commands fail at once while it is away, and after 500 ms when
 * it hangs. Blocking reads need a connection of their own.
 */
export function connectProducer(settings: Settings, log: Log): RedisClient {
  const client = connect(settings, FAIL_FAST);
  const outageLogger = createOutageLogger(log, {
    unavailable: "redis.unavailable",
    recovered: "redis.recovered",
  });
  client.on("error", outageLogger.failed);
  client.on("ready", outageLogger.recovered);
  return client;
}

/** For reads that wait for something to come: it belongs to one reader, whose patience alone ends them. */
export function connectReader(settings: Settings): RedisClient {
  const client = connect(settings, WAIT_FOR_REDIS);
  client.on("error", () => {}); // said once, by the client of everything else
  return client;
}

interface ConnectionOptions {
  /** Null: a command waits as long as Redis is away. */
  maxRetriesPerRequest: number | null;
  commandTimeout?: number;
  connectTimeout: number;
  retryStrategy(attempt: number): number;
}

const FAIL_FAST: ConnectionOptions = {
  maxRetriesPerRequest: 1,
  commandTimeout: 500,
  connectTimeout: 5 * SECOND,
  retryStrategy: backOff(5 * SECOND),
};
/** Everything waits for the readers once Redis is back. */
const WAIT_FOR_REDIS: ConnectionOptions = {
  maxRetriesPerRequest: null,
  connectTimeout: 5 * SECOND,
  retryStrategy: backOff(500),
};

const firstNode = ({ REDIS_URL }: Settings) => REDIS_URL.nodes[0] as string;

function connect(settings: Settings, options: ConnectionOptions): RedisClient {
  const enableOfflineQueue = options.maxRetriesPerRequest === null;
  if (settings.REDIS_URL.cluster) return connectCluster(settings, options, enableOfflineQueue);
  return new Redis(firstNode(settings), { ...tls(settings), ...options, enableOfflineQueue });
}

function connectCluster(
  settings: Settings,
  { retryStrategy, ...options }: ConnectionOptions,
  enableOfflineQueue: boolean,
): Cluster {
  const { username, password } = new URL(firstNode(settings));
  return new Cluster([...settings.REDIS_URL.nodes], {
    enableOfflineQueue,
    clusterRetryStrategy: retryStrategy,
    redisOptions: {
      ...options,
      ...tls(settings),
      ...(username ? { username: decodeURIComponent(username) } : {}),
      ...(password ? { password: decodeURIComponent(password) } : {}),
    },
  });
}

const tls = (settings: Settings) =>
  firstNode(settings).startsWith("rediss:") ? { tls: { rejectUnauthorized: settings.REDIS_TLS_VERIFY } } : {};

/** One round trip within `timeoutMs` milliseconds, or it throws. */
export async function pingRedis(client: RedisClient, timeoutMs: number): Promise<void> {
  await withTimeout(timeoutMs, client.ping(), () => {
    throw new Error(`Redis gave no answer within ${timeoutMs} ms`);
  });
}

/** Waits a moment for the first connection, so that a process which says it is ready is not still dialling. */
export async function awaitConnection(client: RedisClient, timeoutMs: number): Promise<void> {
  if (client.status !== "ready")
    await withTimeout(
      timeoutMs,
      once(client, "ready").catch(() => {}),
      () => {},
    );
}

/** The answers of all commands, or the first fault. */
export async function execPipeline(pipeline: ChainableCommander): Promise<unknown[]> {
  const answers = (await pipeline.exec()) ?? [];
  return answers.map(([error, answer]) => {
    if (error) throw error;
    return answer;
  });
}
