import { SECOND } from "../runtime/durations.ts";
import type { RedisClient } from "./redis.ts";
import { partitionOf, streamKey } from "./streams.ts";

/**
 * A channel's rate is a token bucket of one second's slots, stored as the time at which it is full again (Redis clock).
 * `reserve` takes slots up to MAX_SLOT_WAIT_MS ahead: first for due sends, whose later slot has come, then for fresh ones.
 * A fresh send without a slot gets a later one behind the tail. No fresh send takes a slot while the tail is further ahead.
 */
const RESERVE_SLOTS = `
  local time = redis.call("time")
  local now = time[1] * 1000 + time[2] / 1000
  local interval, horizon, second = tonumber(ARGV[1]), tonumber(ARGV[2]), 1000
  local full = math.max(tonumber(redis.call("get", KEYS[1]) or "0"), now)
  local tail = tonumber(redis.call("get", KEYS[2]) or "0")
  local before = full
  local function take(wanted)
    local room = math.floor((now + horizon + second - full) / interval)
    local taken = math.max(0, math.min(wanted, room))
    full = full + taken * interval
    return taken
  end
  local due = take(tonumber(ARGV[3]))
  local fresh = tail > now + horizon and 0 or take(tonumber(ARGV[4]))
  local start = math.max(tail, full - second, now)
  local left = tonumber(ARGV[4]) - fresh
  redis.call("set", KEYS[1], string.format("%.3f", full), "px", math.ceil(full - now) + second)
  if left > 0 then
    local last = start + left * interval
    redis.call("set", KEYS[2], string.format("%.3f", last), "px", math.ceil(last - now) + second)
  end
  return { due, fresh, string.format("%.3f", before - now), string.format("%.3f", start - now) }`;

export interface ChannelRef {
  clientId: string;
  channelId: string;
}

/** Numbers of sends: due ones, whose later slot has come, and fresh ones, which had no slot yet. */
interface SlotRequest {
  due: number;
  fresh: number;
}

/** Milliseconds until each send's slot, in order. A send with a later slot asks again when it comes. */
interface SendSlots {
  due: { now: number[] };
  fresh: { now: number[]; later: number[] };
}

/** A send with a slot within this time waits in memory; with a later one it waits in its row. */
export const MAX_SLOT_WAIT_MS = 1 * SECOND;

export type SendRateLimiter = ReturnType<typeof createSendRateLimiter>;

/** Limits the messages per second of each channel, over all dispatchers. */
export function createSendRateLimiter(
  redis: RedisClient,
  { partitions, perSecond }: { partitions: number; perSecond: number },
) {
  const interval = SECOND / perSecond;
  const keysOf = ({ clientId, channelId }: ChannelRef) => {
    const key = `${streamKey("outbound", partitionOf(clientId, partitions))}:rate:${channelId}`;
    return [key, `${key}:tail`] as const;
  };
  return {
    /** Takes slots for as many sends as may go out soon, and reserves a later slot for each other fresh send. */
    async reserve(channel: ChannelRef, { due, fresh }: SlotRequest): Promise<SendSlots> {
      const answer = await redis.eval(
        RESERVE_SLOTS,
        2,
        ...keysOf(channel),
        interval,
        MAX_SLOT_WAIT_MS,
        due,
        fresh,
      );
      const [dueCount = 0, freshCount = 0, full = 0, start = 0] = (answer as (string | number)[]).map(Number);
      const waits = Array.from({ length: dueCount + freshCount }, (_, index) =>
        Math.max(0, full + (index + 1) * interval - SECOND),
      );
      const later = Array.from({ length: fresh - freshCount }, (_, index) => start + (index + 1) * interval);
      return { due: { now: waits.slice(0, dueCount) }, fresh: { now: waits.slice(dueCount), later } };
    },
  };
}
