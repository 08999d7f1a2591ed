import { SECOND } from "../runtime/durations.ts";
import type { RedisClient } from "./redis.ts";
import { partitionOf, streamKey } from "./streams.ts";

/**
 * A bucket of one second's worth, kept as the moment at which it would be full again: each that is taken moves it on. Only what may
 * go out within the horizon is taken. The rest queues up behind the tail, a moment for each: those whose turn has come are served
 * first, and while there is a tail nobody new is served before it. By the clock of Redis, which is the same for all.
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

/** How many want to go: those whose turn has come, and new ones. */
interface SlotRequest {
  due: number;
  fresh: number;
}

/** In how many milliseconds each may go, in their order; later ones must come again then. */
interface SendSlots {
  due: { now: number[] };
  fresh: { now: number[]; later: number[] };
}

/** So long one may wait for its moment in hand. */
export const MAX_SLOT_WAIT_MS = 1 * SECOND;

export type SendRateLimiter = ReturnType<typeof createSendRateLimiter>;

/** How fast a channel speaks, over all dispatchers. */
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
    /** Takes a moment for as many as may go soon, and keeps one for each new one that may not. */
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
