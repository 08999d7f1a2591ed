import { once } from "node:events";
import { Cluster, type ClusterOptions, Redis } from "ioredis";
import { withTimeout } from "../runtime/async/timeouts-and-retries.ts";
import type { Config } from "../runtime/config/config.ts";
import { SECOND } from "../runtime/durations.ts";

type Settings = Pick<Config, "REDIS_URL" | "REDIS_TLS_VERIFY">;

export type RedisClient = Redis | Cluster;

/** Retries without end, starting at 200 ms: Redis may be unavailable at the start and at any later time. */
const backOff = (maxDelayMs: number) => (attempt: number) => Math.min(200 * 2 ** (attempt - 1), maxDelayMs);

/**
 * The client for commands that must not wait: they fail immediately while Redis is unavailable, and after
 * `commandTimeout` when it hangs. Blocking reads need a reader client.
 */
export const createProducerClient = (settings: Settings, commandTimeout = COMMAND_TIMEOUT_MS): RedisClient =>
  createClient(settings, { ...FAIL_FAST, commandTimeout });

/** The client for wake-ups: a blocking read fails as soon as its connection closes, and its reader opens another one. */
export const createWakeUpClient = (settings: Settings): RedisClient => createClient(settings, FAIL_ON_CLOSE);

interface ConnectionOptions {
  maxRetriesPerRequest: number;
  commandTimeout?: number;
  connectTimeout: number;
  retryStrategy(attempt: number): number;
}

const COMMAND_TIMEOUT_MS = 500;
const FAIL_FAST: ConnectionOptions = {
  maxRetriesPerRequest: 1,
  connectTimeout: 5 * SECOND,
  retryStrategy: backOff(5 * SECOND),
};
const FAIL_ON_CLOSE: ConnectionOptions = { ...FAIL_FAST, maxRetriesPerRequest: 0 };

const firstNode = ({ REDIS_URL }: Settings) => REDIS_URL.nodes[0] as string;

/** The client connects at its first command or in `awaitConnection`: creating one opens no socket and no timer. */
function createClient(settings: Settings, options: ConnectionOptions): RedisClient {
  const connecting = { lazyConnect: true, enableOfflineQueue: false };
  const client = settings.REDIS_URL.cluster
    ? createCluster(settings, options, connecting)
    : new Redis(firstNode(settings), { ...tls(settings), ...options, ...connecting });
  client.on("error", () => {}); // redis-state.ts logs outages; without a listener the client prints its errors
  return client;
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

/** Opens the connection and waits up to `timeoutMs` for it, so that a process is connected before it reports ready. */
export async function awaitConnection(client: RedisClient, timeoutMs: number): Promise<void> {
  if (client.status === "ready") return;
  const opened = once(client, "ready").catch(() => {});
  if (client.status === "wait") client.connect().catch(() => {}); // the client emits the error and retries
  await withTimeout(timeoutMs, opened, () => {});
}
