import { once } from "node:events";
import { type ChainableCommander, Cluster, type ClusterOptions, Redis } from "ioredis";
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
export function createProducerClient(settings: Settings, log: Log): RedisClient {
  const client = createClient(settings, FAIL_FAST);
  const outageLogger = createOutageLogger(log, {
    unavailable: "redis.unavailable",
    recovered: "redis.recovered",
  });
  client.on("error", outageLogger.failed);
  client.on("ready", outageLogger.recovered);
  return client;
}

/** For reads that wait for something to come: it belongs to one reader, whose patience alone ends them. */
export function createReaderClient(settings: Settings): RedisClient {
  const client = createClient(settings, WAIT_FOR_REDIS);
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

/** The client connects at its first command or in `awaitConnection`: creating one opens no socket and no timer. */
function createClient(settings: Settings, options: ConnectionOptions): RedisClient {
  const connecting = { lazyConnect: true, enableOfflineQueue: options.maxRetriesPerRequest === null };
  if (settings.REDIS_URL.cluster) return createCluster(settings, options, connecting);
  return new Redis(firstNode(settings), { ...tls(settings), ...options, ...connecting });
}

function createCluster(
  settings: Settings,
  { retryStrategy, ...options }: ConnectionOptions,
  connecting: Pick<ClusterOptions, "lazyConnect" | "enableOfflineQueue">,
): Cluster {
  const { username, password } = new URL(firstNode(settings));
  return new Cluster([...settings.REDIS_URL.nodes], {
    ...connecting,
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

/** Opens the connection and waits a moment for it, so that a process which says it is ready is not still dialling. */
export async function awaitConnection(client: RedisClient, timeoutMs: number): Promise<void> {
  if (client.status === "ready") return;
  const opened = once(client, "ready").catch(() => {});
  if (client.status === "wait") client.connect().catch(() => {}); // the client emits the error and tries again
  await withTimeout(timeoutMs, opened, () => {});
}

/** The answers of all commands, or the first fault. */
export async function execPipeline(pipeline: ChainableCommander): Promise<unknown[]> {
  const answers = (await pipeline.exec()) ?? [];
  return answers.map(([error, answer]) => {
    if (error) throw error;
    return answer;
  });
}
