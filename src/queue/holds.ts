import { createBatcher } from "../runtime/async/batcher.ts";
import { SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/log.ts";
import type { Worker } from "../runtime/supervise.ts";
import { repeat } from "../runtime/supervise.ts";
import type { Queryable } from "../store/database/database.ts";
import { readQueueHold } from "../store/processes/queue-hold.ts";
import type { RedisClient } from "./redis.ts";

/**
 * A dispatcher's view of the queue hold, which an operator sets in Postgres. It is released until a check finds the hold, and
 * held until a check finds it gone; each change is logged. While Postgres is unavailable the last state stays.
 */
export interface QueueHold {
  /** The state at the last check. */
  isHeld(): boolean;
}

const CHECK_INTERVAL_MS = 1 * SECOND;

export function createQueueHold({ db, log }: { db: Queryable; log: Log }): QueueHold & Worker {
  let isHeld = false;

  async function check(): Promise<void> {
    const { held, since } = await readQueueHold(db);
    if (held === isHeld) return;
    isHeld = held;
    if (held) log.warn("queue.held", { since });
    else log.info("queue.released");
  }

  const checkLoop = repeat({ name: "hold_check", intervalMs: CHECK_INTERVAL_MS, work: check, log });
  return { ...checkLoop, isHeld: () => isHeld };
}

/** The hash tag puts all keys into one cluster slot, so that the keys of a call are read in one round trip. */
const redisKey = (key: string) => `herald:{holds}:${key}`;

/** The longer of two holds wins: a later answer with a shorter pause must not end it early. */
const EXTEND_HOLD = `
  if redis.call("pttl", KEYS[1]) < tonumber(ARGV[1]) then
    redis.call("set", KEYS[1], "1", "px", ARGV[1])
  end`;

/** Milliseconds left of each key; negative for a free key. */
const READ_HOLDS = `
  local remaining = {}
  for i, key in ipairs(KEYS) do remaining[i] = redis.call("pttl", key) end
  return remaining`;

const MAX_CALLS_PER_READ = 500;

/**
 * The platform holds. A key (a platform quota) is free or held. `hold` holds it after the platform asks for a pause; it
 * becomes free when the time ends. Redis shares holds among all processes; each also keeps its own, for when Redis is away.
 */
export function createHolds(redis: RedisClient) {
  const localHolds = new Map<string, number>();
  const sharedHolds = createSharedHolds(redis);
  return {
    /** Milliseconds until all of these keys are free; 0 when none is held. */
    async remaining(keys: readonly string[]): Promise<number> {
      const now = Date.now();
      const localRemaining = keys.map((key) => (localHolds.get(key) ?? now) - now);
      return Math.max(0, ...localRemaining, keys.length === 0 ? 0 : await sharedHolds.add(keys));
    },
    async hold(key: string, milliseconds: number): Promise<void> {
      dropExpired(localHolds);
      localHolds.set(key, Math.max(localHolds.get(key) ?? 0, Date.now() + milliseconds));
      await redis.eval(EXTEND_HOLD, 1, redisKey(key), Math.max(1, Math.ceil(milliseconds))).catch(() => {});
    },
  };
}

/**
 * Reads the holds of all calls that begin in the same turn with one command; returns the longest of a call's keys. Keys are
 * free while Redis is unavailable.
 */
const createSharedHolds = (redis: RedisClient) =>
  createBatcher<readonly string[], number>({
    maxItems: MAX_CALLS_PER_READ,
    maxRunningBatches: Number.POSITIVE_INFINITY,
    async run(calls) {
      const keys = [...new Set(calls.flat())];
      const answer = await redis.eval(READ_HOLDS, keys.length, ...keys.map(redisKey)).catch(() => []);
      const remaining = new Map(keys.map((key, index) => [key, (answer as number[])[index] ?? 0]));
      return (call) => Math.max(...call.map((key) => remaining.get(key) ?? 0));
    },
  });

function dropExpired(localHolds: Map<string, number>): void {
  const cutoff = Date.now() - SECOND;
  for (const [key, end] of localHolds) if (end < cutoff) localHolds.delete(key);
}
