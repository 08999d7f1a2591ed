import { SECOND } from "../runtime/durations.ts";
import type { RedisClient } from "./redis.ts";

/** One slot of a cluster, so that the keys of a call are asked for in one round trip. */
const redisKey = (key: string) => `herald:{holds}:${key}`;

/** Of two answers about one quota the one that says more counts, whichever comes last. */
const EXTEND_HOLD = `
  if redis.call("pttl", KEYS[1]) < tonumber(ARGV[1]) then
    redis.call("set", KEYS[1], "1", "px", ARGV[1])
  end`;

/**
 * Until when something must not be called, known to every process: kept in Redis, and in memory what this process has
 * learnt itself. While Redis is away, that alone counts.
 */
export function createHolds(redis: RedisClient) {
  const localHolds = new Map<string, number>();
  return {
    /** Milliseconds until the last of these keys is free again; 0 when all are. */
    async remaining(keys: readonly string[]): Promise<number> {
      const now = Date.now();
      const localRemaining = keys.map((key) => (localHolds.get(key) ?? now) - now);
      return Math.max(0, ...localRemaining, ...(await readSharedHolds(redis, keys)));
    },
    async hold(key: string, milliseconds: number): Promise<void> {
      dropExpired(localHolds);
      localHolds.set(key, Math.max(localHolds.get(key) ?? 0, Date.now() + milliseconds));
      await redis.eval(EXTEND_HOLD, 1, redisKey(key), Math.max(1, Math.ceil(milliseconds))).catch(() => {});
    },
  };
}

/** What Redis knows of each key, in milliseconds; negative for a key that is not held. */
async function readSharedHolds(redis: RedisClient, keys: readonly string[]): Promise<number[]> {
  const pipeline = redis.pipeline();
  for (const key of keys) pipeline.pttl(redisKey(key));
  const answers = await pipeline.exec().catch(() => undefined);
  return (answers ?? []).map(([error, remaining]) => (error ? 0 : Number(remaining)));
}

function dropExpired(localHolds: Map<string, number>): void {
  const cutoff = Date.now() - SECOND;
  for (const [key, end] of localHolds) if (end < cutoff) localHolds.delete(key);
}
