import { Cluster, Command, Redis, type RedisOptions } from "ioredis";
import { withTimeout } from "../runtime/async/timeouts-and-retries.ts";
import type { Config } from "../runtime/config/config.ts";
import { SECOND } from "../runtime/durations.ts";

export type RedisSettings = Pick<Config, "REDIS_URL" | "REDIS_TLS_VERIFY">;

export type RedisClient = Redis | Cluster;

/** The options that this file uses. */
type ClientOptions = Pick<
  RedisOptions,
  | "commandTimeout"
  | "connectTimeout"
  | "disconnectTimeout"
  | "enableOfflineQueue"
  | "lazyConnect"
  | "maxRetriesPerRequest"
  | "password"
  | "retryStrategy"
  | "socketTimeout"
  | "tls"
  | "username"
>;

/** Retries without end, at 200 ms to a second: Redis may be unavailable at the start and at any later time. */
const backOff = (attempt: number): number => Math.min(200 * 2 ** (attempt - 1), 1 * SECOND);

const COMMAND_TIMEOUT_MS = 500;
/** A connection without an answer for so many timeouts of a command is closed. */
const MAX_LATE_COMMANDS = 4;
const FAIL_FAST = {
  lazyConnect: true,
  maxRetriesPerRequest: 1,
  connectTimeout: 5 * SECOND,
  retryStrategy: backOff,
} as const satisfies ClientOptions;
/** A blocking read is abandoned when its connection closes, also to a node that hangs, and its reader opens another one. */
const FAIL_ON_CLOSE = {
  ...FAIL_FAST,
  disconnectTimeout: 100,
  enableOfflineQueue: false,
  retryStrategy: () => null,
} as const satisfies ClientOptions;

/**
 * The client for commands that must not wait: they fail immediately while Redis is unavailable, and after
 * `commandTimeout` when it hangs. The client connects at its first command or in `awaitConnection`: creating one opens no
 * socket and no timer.
 */
export function createProducerClient(
  settings: RedisSettings,
  commandTimeout = COMMAND_TIMEOUT_MS,
): RedisClient {
  // A connection to a server that hangs, or whose machine is gone, is replaced: another server may be the primary now.
  const options = { ...FAIL_FAST, commandTimeout, socketTimeout: MAX_LATE_COMMANDS * commandTimeout };
  const client = settings.REDIS_URL.cluster
    ? createCluster(settings, options)
    : createServerClient(settings, { ...options, enableOfflineQueue: false });
  return withoutPrintedErrors(client);
}

/** Opens a connection for blocking reads of the key. A read fails when it closes, and its reader opens another one. */
export type ReadConnector = (key: string) => RedisClient;

/**
 * Connections for blocking reads. In a cluster each is one socket to the node that `redis` knows as the primary of the key,
 * and closes when the key has another one: a client of the whole cluster would open several sockets for each stream.
 */
export function createReadConnector(settings: RedisSettings, redis: RedisClient): ReadConnector {
  if (redis instanceof Redis) return () => withoutPrintedErrors(createServerClient(settings, FAIL_ON_CLOSE));
  const addresses = new Map<Redis, { key: string; address: string }>();
  redis.on("refresh", () => {
    for (const [client, { key, address }] of addresses)
      if (primaryOf(redis, key) !== address) client.disconnect();
  });
  return (key) => {
    const address = primaryOf(redis, key);
    if (address === undefined) throw new Error("the primary of the stream is not known");
    const [host, port] = splitAddress(address);
    const client = new Redis({ ...accessOf(settings), ...FAIL_ON_CLOSE, host, port });
    addresses.set(client, { key, address });
    client.once("end", () => addresses.delete(client));
    return withoutPrintedErrors(client);
  };
}

/** The address of the node that the cluster client knows as the primary of the key. */
function primaryOf(cluster: Cluster, key: string): string | undefined {
  return cluster.slots[slotOf(key)]?.[0];
}

/** The slot of a Redis Cluster that has the key. */
export const slotOf = (key: string): number => new Command("get", [key]).getSlot() as number;

/** The last colon: an IPv6 address has several. */
function splitAddress(address: string): [host: string, port: number] {
  const index = address.lastIndexOf(":");
  return [address.slice(0, index), Number(address.slice(index + 1))];
}

/** redis-state.ts logs outages; without a listener the client prints its errors. */
function withoutPrintedErrors<T extends RedisClient>(client: T): T {
  client.on("error", () => {});
  return client;
}

/** A sentinel that does not answer for so long is passed over. */
const SENTINEL_TIMEOUT_MS = 1 * SECOND;

/** A client of one server: the one of REDIS_URL, or the primary that the sentinels name. */
function createServerClient(settings: RedisSettings, options: ClientOptions): Redis {
  const { nodes, sentinel } = settings.REDIS_URL;
  if (!sentinel) return new Redis(nodes[0] as string, { ...tlsOf(settings), ...options });
  const { username, password } = sentinel;
  return new Redis({
    ...options,
    ...accessOf(settings),
    name: sentinel.primary,
    db: databaseOf(settings),
    sentinels: nodes.map(endpointOf),
    ...(username === undefined ? {} : { sentinelUsername: username }),
    ...(password === undefined ? {} : { sentinelPassword: password }),
    ...(isTls(settings)
      ? { enableTLSForSentinelMode: true, sentinelTLS: tlsOf(settings).tls as object }
      : {}),
    sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
    sentinelRetryStrategy: backOff,
  });
}

/** A node that hangs or is cut off says nothing of its successor: the slots are read again at this interval. */
const SLOTS_REFRESH_MS = 1 * SECOND;
/** A node that is gone for longer is dropped, so that the client looks for the cluster at the addresses of REDIS_URL again. */
const MAX_NODE_RECONNECTS = 5;
/** A command follows a slot that moves, and fails after about 0.5 s while the slot has no primary. */
const MAX_REDIRECTIONS = 5;

const createCluster = (settings: RedisSettings, options: ClientOptions): Cluster =>
  new Cluster([...settings.REDIS_URL.nodes], {
    lazyConnect: true,
    enableOfflineQueue: false,
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    slotsRefreshTimeout: COMMAND_TIMEOUT_MS,
    maxRedirections: MAX_REDIRECTIONS,
    clusterRetryStrategy: backOff,
    clusterNodeRetryStrategy: (attempt) => (attempt > MAX_NODE_RECONNECTS ? null : backOff(attempt)),
    redisOptions: { ...options, ...accessOf(settings) },
  });

/** Host and port, without the brackets of an IPv6 address. */
export function endpointOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
}

/** User, password and TLS of a server whose address is not in REDIS_URL. */
export function accessOf(settings: RedisSettings): ClientOptions {
  const { username, password } = new URL(firstNode(settings));
  return {
    ...tlsOf(settings),
    ...(username ? { username: decodeURIComponent(username) } : {}),
    ...(password ? { password: decodeURIComponent(password) } : {}),
  };
}

/** The database of the server that the sentinels name. */
export const databaseOf = (settings: RedisSettings): number =>
  Number(new URL(firstNode(settings)).pathname.slice(1));

const firstNode = ({ REDIS_URL }: RedisSettings) => REDIS_URL.nodes[0] as string;

const isTls = (settings: RedisSettings): boolean => firstNode(settings).startsWith("rediss:");

export const tlsOf = (settings: RedisSettings): ClientOptions =>
  isTls(settings) ? { tls: { rejectUnauthorized: settings.REDIS_TLS_VERIFY } } : {};

/**
 * Opens the connection and waits up to `timeoutMs` for it, so that a process is connected before it reports ready. Returns
 * earlier when an attempt fails.
 */
export async function awaitConnection(client: RedisClient, timeoutMs: number): Promise<void> {
  if (client.status === "ready") return;
  const settled = new Promise<void>((resolve) => {
    for (const event of ["ready", "error", "end"]) client.once(event, () => resolve());
  });
  if (client.status === "wait") client.connect().catch(() => {}); // the client emits the error and retries
  await withTimeout(timeoutMs, settled, () => {});
}
