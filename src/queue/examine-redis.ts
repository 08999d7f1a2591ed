import { isIPv6 } from "node:net";
import { Redis, type RedisOptions } from "ioredis";
import { withTimeout } from "../runtime/async/timeouts-and-retries.ts";
import type { Config } from "../runtime/config/config.ts";
import { accessOf, databaseOf, endpointOf, type RedisSettings, slotOf, tlsOf } from "./redis.ts";
import { probeRedisWrites } from "./redis-state.ts";
import { taggedKey, tagsOf } from "./wake-ups.ts";

/**
 * Asks each server of a Redis over a connection of its own: the clients of the processes use only the primaries that have
 * their keys, and do not tell which server failed.
 */

/** A server that was asked. */
export interface ExaminedServer {
  /** Host and port. */
  address: string;
  /** Why it cannot be used; absent when it answered, and accepted a write if it is a primary. */
  error?: unknown;
}

export interface ExaminedPrimary extends ExaminedServer {
  /** The number of its slots. */
  slots: number;
  /** The number of replicas that can replace it. */
  replicas: number;
  /** Whether it refuses commands while any slot has no primary; undefined when the user may not read that. */
  requiresFullCoverage: boolean | undefined;
}

export interface ExaminedCluster {
  /** The nodes of REDIS_URL. */
  nodes: ExaminedServer[];
  /** The primaries with slots, as one of those nodes knows them. */
  primaries: ExaminedPrimary[];
}

export interface ExaminedSentinel extends ExaminedServer {
  /** The server that it names; null when it does not know the name, undefined when it does not answer. */
  named?: Endpoint | null;
}

export interface ExaminedSentinels {
  /** The sentinels of REDIS_URL. */
  sentinels: ExaminedSentinel[];
  /** The server that the first sentinel with an answer names: clients use it too. */
  primary: ExaminedServer | undefined;
}

export interface Endpoint {
  host: string;
  port: number;
}

export const CLUSTER_SLOTS = 16_384;

/** Asks the only server of REDIS_URL. */
export async function examineServer(settings: RedisSettings, timeoutMs: number): Promise<ExaminedServer> {
  const [url = ""] = settings.REDIS_URL.nodes;
  const client = new Redis(url, { ...tlsOf(settings), ...optionsFor(timeoutMs) });
  const error = await reasonOf(ask(client, timeoutMs, () => probe(client, tagsOf(settings), timeoutMs)));
  return { address: hostOf(url), error };
}

/** Asks every primary of the cluster. */
export async function examineCluster(settings: RedisSettings, timeoutMs: number): Promise<ExaminedCluster> {
  const nodes = await Promise.all(
    settings.REDIS_URL.nodes.map((url) => readShards(url, settings, timeoutMs)),
  );
  // A node that has left the cluster still answers, with few slots or none.
  const views = nodes.map(({ shards }) => shards).sort((one, other) => countSlots(other) - countSlots(one));
  const [shards = []] = views;
  const primaries = await Promise.all(shards.map((shard) => examinePrimary(shard, settings, timeoutMs)));
  return { nodes, primaries };
}

type SentinelAccess = NonNullable<Config["REDIS_URL"]["sentinel"]>;

/** Asks each sentinel for the primary, and the primary whether it accepts writes. */
export async function examineSentinels(
  settings: RedisSettings,
  access: SentinelAccess,
  timeoutMs: number,
): Promise<ExaminedSentinels> {
  const { nodes } = settings.REDIS_URL;
  const options = { ...tlsOf(settings), ...optionsFor(timeoutMs) };
  const sentinels = await Promise.all(
    nodes.map((url) => {
      const client = new Redis({ ...options, ...credentialsOf(access), ...endpointOf(url) });
      return examineSentinel(client, access.primary, timeoutMs);
    }),
  );
  const named = sentinels.find((sentinel) => sentinel.named)?.named;
  if (!named) return { sentinels, primary: undefined };
  const client = new Redis({ ...options, ...accessOf(settings), ...named, db: databaseOf(settings) });
  const error = await reasonOf(ask(client, timeoutMs, () => probe(client, tagsOf(settings), timeoutMs)));
  return { sentinels, primary: { address: addressOf(named), error } };
}

const credentialsOf = ({ username, password }: SentinelAccess) => ({
  ...(username ? { username } : {}),
  ...(password ? { password } : {}),
});

async function examineSentinel(client: Redis, name: string, timeoutMs: number): Promise<ExaminedSentinel> {
  const { host = "", port = 0 } = client.options;
  const address = addressOf({ host, port });
  const askForPrimary = () => client.call("sentinel", "get-master-addr-by-name", name);
  try {
    const answer = (await ask(client, timeoutMs, askForPrimary)) as [host: string, port: string] | null;
    return { address, named: answer && { host: answer[0], port: Number(answer[1]) } };
  } catch (error) {
    return { address, error };
  }
}

/** A primary and its slots. */
interface Shard extends Endpoint {
  ranges: [first: number, last: number][];
  replicas: number;
}

type SlotRange = [first: number, last: number, ...nodes: [host: string | null, port: number, ...unknown[]][]];

async function readShards(
  url: string,
  settings: RedisSettings,
  timeoutMs: number,
): Promise<ExaminedServer & { shards: Shard[] }> {
  const address = hostOf(url);
  const client = new Redis(url, { ...accessOf(settings), ...optionsFor(timeoutMs) });
  try {
    const ranges: SlotRange[] = await ask(client, timeoutMs, () => client.cluster("SLOTS"));
    return { address, shards: groupByPrimary(ranges, endpointOf(url).host) };
  } catch (error) {
    return { address, error, shards: [] };
  }
}

/** A node that does not know its own address stands without a host: it is the one that was asked. */
function groupByPrimary(ranges: readonly SlotRange[], askedHost: string): Shard[] {
  const shards = new Map<string, Shard>();
  for (const [first, last, primary, ...replicas] of ranges) {
    if (!primary) continue;
    const endpoint = { host: primary[0] || askedHost, port: primary[1] };
    const key = addressOf(endpoint);
    const shard = shards.get(key) ?? { ...endpoint, ranges: [], replicas: replicas.length };
    shard.ranges.push([first, last]);
    shards.set(key, shard);
  }
  return [...shards.values()];
}

const countSlots = (shards: readonly Shard[]): number =>
  shards.flatMap(({ ranges }) => ranges).reduce((sum, [first, last]) => sum + last - first + 1, 0);

async function examinePrimary(
  shard: Shard,
  settings: RedisSettings,
  timeoutMs: number,
): Promise<ExaminedPrimary> {
  const { host, port, replicas } = shard;
  const client = new Redis({ ...accessOf(settings), ...optionsFor(timeoutMs), host, port });
  const work = async () => ({
    requiresFullCoverage: await readCoverage(client),
    error: await reasonOf(probe(client, [tagIn(shard)], timeoutMs)),
  });
  const found = await ask(client, timeoutMs, work).catch((error: unknown) => ({
    requiresFullCoverage: undefined,
    error,
  }));
  return { address: addressOf(shard), slots: countSlots([shard]), replicas, ...found };
}

/** Providers of Redis often forbid CONFIG. */
const readCoverage = (client: Redis): Promise<boolean | undefined> =>
  client.config("GET", "cluster-require-full-coverage").then(
    (answer) => (answer as string[])[1] === "yes",
    () => undefined,
  );

/** A tag whose keys belong to the primary; each slot has one below 110,000. */
function tagIn({ ranges }: Shard): number {
  for (let tag = 0; ; tag++) {
    const slot = slotOf(taggedKey(tag, "probe"));
    if (ranges.some(([first, last]) => first <= slot && slot <= last)) return tag;
  }
}

const probe = (client: Redis, tags: readonly number[], timeoutMs: number): Promise<void> =>
  probeRedisWrites(client, { tags, timeoutMs });

/** One attempt to connect. A server that still loads its data answers so. */
const optionsFor = (timeoutMs: number) =>
  ({
    lazyConnect: true,
    enableReadyCheck: false,
    connectTimeout: timeoutMs,
    disconnectTimeout: 100,
    retryStrategy: () => null,
  }) satisfies RedisOptions;

/** Connects, does the work and disconnects. Throws why one of them failed: the work only knows that the connection is closed. */
async function ask<T>(client: Redis, timeoutMs: number, work: () => Promise<T>): Promise<T> {
  let fault: unknown;
  client.on("error", (error) => {
    fault ??= error;
  });
  const late = () => {
    throw new Error(`no answer within ${timeoutMs} ms`);
  };
  try {
    const answer = await withTimeout(timeoutMs, client.connect().then(work), late);
    if (fault) throw fault; // the server has refused the database
    return answer;
  } catch (error) {
    throw fault ?? error;
  } finally {
    client.disconnect();
  }
}

const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

export const addressOf = ({ host, port }: Endpoint): string =>
  isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;

/** Without the user and password of the URL. */
const hostOf = (url: string): string => new URL(url).host;
