import { once } from "node:events";
import { Cluster, Redis } from "ioredis";
import type { Config } from "../runtime/config.ts";
import { SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/log.ts";
import { within } from "../runtime/within.ts";

type Settings = Pick<Config, "REDIS_URL" | "REDIS_TLS_VERIFY">;

export type RedisClient = Redis | Cluster;

/** Backs off from 200 ms to 5 s, for ever: Redis may be away at the start and at any time after. */
const retryStrategy = (attempt: number): number => Math.min(200 * 2 ** (attempt - 1), 5 * SECOND);

/**
 * The client of everything that must not wait for Redis: commands fail at once while it is away, and after 500 ms when
 * it hangs. Blocking reads need a connection of their own.
 */
export function connectProducer(settings: Settings, log: Log): RedisClient {
  const client = settings.REDIS_URL.cluster ? connectCluster(settings) : connectSingle(settings);
  let away = false;
  client.on("error", (error) => {
    if (!away) log.warn("redis.away", { err: error });
    away = true;
  });
  client.on("ready", () => {
    if (away) log.info("redis.back");
    away = false;
  });
  return client;
}

const FAIL_FAST = { maxRetriesPerRequest: 1, commandTimeout: 500, connectTimeout: 5 * SECOND };

const firstNode = ({ REDIS_URL }: Settings) => REDIS_URL.nodes[0] as string;

function connectSingle(settings: Settings): Redis {
  const options = { ...FAIL_FAST, ...tls(settings), enableOfflineQueue: false, retryStrategy };
  return new Redis(firstNode(settings), options);
}

function connectCluster(settings: Settings): Cluster {
  const { username, password } = new URL(firstNode(settings));
  return new Cluster([...settings.REDIS_URL.nodes], {
    enableOfflineQueue: false,
    clusterRetryStrategy: retryStrategy,
    redisOptions: {
      ...FAIL_FAST,
      ...tls(settings),
      ...(username ? { username: decodeURIComponent(username) } : {}),
      ...(password ? { password: decodeURIComponent(password) } : {}),
    },
  });
}

const tls = (settings: Settings) =>
  firstNode(settings).startsWith("rediss:") ? { tls: { rejectUnauthorized: settings.REDIS_TLS_VERIFY } } : {};

/** One round trip within `deadline` milliseconds, or it throws. */
export async function pingRedis(client: RedisClient, deadline: number): Promise<void> {
  await within(deadline, client.ping(), () => {
    throw new Error(`Redis gave no answer within ${deadline} ms`);
  });
}

/** Waits a moment for the first connection, so that a process which says it is ready is not still dialling. */
export async function awaitConnection(client: RedisClient, patience: number): Promise<void> {
  if (client.status !== "ready")
    await within(
      patience,
      once(client, "ready").catch(() => {}),
      () => {},
    );
}
