import type { Redis } from "ioredis";

/**
 * A token bucket of one second's slots in Redis, because BullMQ's limit per group is not in its open edition. It is
 * stored as the time at which it is full again; each call takes one slot and returns the milliseconds until it.
 */
const RESERVE_SLOT = `
  local time = redis.call("time")
  local now = time[1] * 1000 + time[2] / 1000
  local interval = tonumber(ARGV[1])
  local full = math.max(tonumber(redis.call("get", KEYS[1]) or "0"), now) + interval
  redis.call("set", KEYS[1], string.format("%.3f", full), "px", math.ceil(full - now) + 1000)
  return string.format("%.3f", math.max(0, full - now - 1000))`;

declare module "ioredis" {
  interface RedisCommander {
    reserveSlot(key: string, intervalMs: number): Promise<string>;
  }
}

/** Returns a function that reserves a channel's next slot; it returns the milliseconds until the slot. */
export function createSlots(redis: Redis, perSecond: number): (channelId: string) => Promise<number> {
  redis.defineCommand("reserveSlot", { numberOfKeys: 1, lua: RESERVE_SLOT });
  return async (channelId) => Number(await redis.reserveSlot(`rate:${channelId}`, 1_000 / perSecond));
}
