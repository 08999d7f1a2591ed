import { SECOND } from "../runtime/durations.ts";
import type { RedisClient } from "./redis.ts";

/**
 * A key (a platform quota) is free or held. `hold` holds it after the platform asks for a pause; it becomes free when the
 * time ends. Redis shares holds among all processes; each process also keeps its own, which count without Redis.
 */

/** The hash tag puts all keys into one cluster slot, so that the keys of a call are read in one round trip. */
const redisKey = (key: string) => `herald:{holds}:${key}`;

/** The longer of two holds wins: a later answer with a shorter pause must not end it early. */
const EXTEND_HOLD = `
  if redis.call("pttl", KEYS[1]) < tonumber(ARGV[1]) then
    redis.call("set", KEYS[1], "1", "px", ARGV[1])
  end`;

export function createHolds(redis: RedisClient) {
  const localHolds = new Map<string, number>();
  return {
    /** Milliseconds until all of these keys are free; 0 when none is held. */
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

/** Milliseconds left of each key's hold in Redis; negative for a free key. Empty while Redis is unavailable. */
async function readSharedHolds(redis: RedisClient, keys: readonly string[]): Promise<number[]> {
  if (keys.length === 0) return [];
  const pipeline = redis.pipeline();
  for (const key of keys) pipeline.pttl(redisKey(key));
  const answers = await pipeline.exec().catch(() => undefined);
  return (answers ?? []).map(([error, remaining]) => (error ? 0 : Number(remaining)));
}

function dropExpired(localHolds: Map<string, number>): void {
  const cutoff = Date.now() - SECOND;
  for (const [key, end] of localHolds) if (end < cutoff) localHolds.delete(key);
}
