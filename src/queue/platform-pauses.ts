import { createBatcher } from "../runtime/async/batcher.ts";
import { SECOND } from "../runtime/durations.ts";
import type { RedisClient } from "./redis.ts";

/** The hash tag puts all keys into one cluster slot, so that the keys of a call are read in one round trip. */
const redisKey = (key: string) => `herald:{pauses}:${key}`;

/** The longer of two pauses wins: a later answer with a shorter pause must not end it early. */
const EXTEND_PAUSE = `
  if redis.call("pttl", KEYS[1]) < tonumber(ARGV[1]) then
    redis.call("set", KEYS[1], "1", "px", ARGV[1])
  end`;

/** Milliseconds left of each key; negative for a free key. */
const READ_PAUSES = `
  local remaining = {}
  for i, key in ipairs(KEYS) do remaining[i] = redis.call("pttl", key) end
  return remaining`;

const MAX_CALLS_PER_READ = 500;

/**
 * The platform pauses. A key (a platform quota) is free or paused. `pause` pauses it after the platform asks for a pause; it
 * becomes free when the time ends. Redis shares pauses among all processes; each also keeps its own, for when Redis is away.
 */
export function createPauses(redis: RedisClient) {
  const localPauses = new Map<string, number>();
  const sharedPauses = createSharedPauses(redis);
  return {
    /** Milliseconds until all of these keys are free; 0 when none is paused. */
    async remaining(keys: readonly string[]): Promise<number> {
      const now = Date.now();
      const localRemaining = keys.map((key) => (localPauses.get(key) ?? now) - now);
      return Math.max(0, ...localRemaining, keys.length === 0 ? 0 : await sharedPauses.add(keys));
    },
    async pause(key: string, milliseconds: number): Promise<void> {
      dropExpired(localPauses);
      localPauses.set(key, Math.max(localPauses.get(key) ?? 0, Date.now() + milliseconds));
      await redis.eval(EXTEND_PAUSE, 1, redisKey(key), Math.max(1, Math.ceil(milliseconds))).catch(() => {});
    },
  };
}

/**
 * Reads the pauses of all calls that begin in the same turn with one command; returns the longest of a call's keys. Keys are
 * free while Redis is unavailable.
 */
const createSharedPauses = (redis: RedisClient) =>
  createBatcher<readonly string[], number>({
    maxItems: MAX_CALLS_PER_READ,
    maxRunningBatches: Number.POSITIVE_INFINITY,
    async run(calls) {
      const keys = [...new Set(calls.flat())];
      const answer = await redis.eval(READ_PAUSES, keys.length, ...keys.map(redisKey)).catch(() => []);
      const remaining = new Map(keys.map((key, index) => [key, (answer as number[])[index] ?? 0]));
      return (call) => Math.max(...call.map((key) => remaining.get(key) ?? 0));
    },
  });

/** A platform quota whose calls are paused: `app`, `asset:` with its id and use case, or `object:` with its path. */
export interface QuotaPause {
  quota: string;
  seconds_left: number;
}

const SCANNED_KEYS = 1_000;

/** Lists the pauses that the processes share, longest first; reads the names of all keys. Throws while Redis is unavailable. */
export async function listPauses(redis: RedisClient): Promise<QuotaPause[]> {
  const prefix = redisKey("");
  const servers = "nodes" in redis ? redis.nodes("master") : [redis];
  const pauses: QuotaPause[] = [];
  for (const server of servers)
    for await (const keys of server.scanStream({ match: `${prefix}*`, count: SCANNED_KEYS }))
      for (const key of keys as string[]) {
        const ms = await server.pttl(key);
        if (ms > 0) pauses.push({ quota: key.slice(prefix.length), seconds_left: Math.ceil(ms / SECOND) });
      }
  return pauses.sort((one, other) => other.seconds_left - one.seconds_left);
}

function dropExpired(localPauses: Map<string, number>): void {
  const cutoff = Date.now() - SECOND;
  for (const [key, end] of localPauses) if (end < cutoff) localPauses.delete(key);
}
