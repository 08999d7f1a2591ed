import { SECOND } from "../../runtime/durations.ts";
import type { RedisClient } from "../redis.ts";
import { partitionOf, streamKey } from "./streams.ts";

/**
 * A bucket of one second's worth, as the moment at which it would be full again if nothing were taken: each that is taken moves it
 * on. Answers the time and where it stood. By the clock of Redis, which is the same for all.
 */
const TAKE = `
  local time = redis.call("time")
  local now = time[1] * 1000 + time[2] / 1000
  local full = math.max(tonumber(redis.call("get", KEYS[1]) or "0"), now)
  local after = full + ARGV[1] * ARGV[2]
  redis.call("set", KEYS[1], string.format("%.3f", after), "px", math.ceil(after - now) + 1000)
  return { string.format("%.3f", now), string.format("%.3f", full) }`;

export interface Speaker {
  clientId: string;
  channelId: string;
}

export type Rate = ReturnType<typeof createRate>;

/** How fast a channel speaks, over all dispatchers. */
export function createRate(
  redis: RedisClient,
  { partitions, perSecond }: { partitions: number; perSecond: number },
) {
  const interval = SECOND / perSecond;
  const keyOf = ({ clientId, channelId }: Speaker) =>
    `${streamKey("outbound", partitionOf(clientId, partitions))}:rate:${channelId}`;
  return {
    /** Keeps a moment for each of `count` messages, and answers in how many milliseconds from now they are. */
    async take(speaker: Speaker, count: number): Promise<number[]> {
      const answer = await redis.eval(TAKE, 1, keyOf(speaker), interval, count);
      const [now = 0, full = 0] = (answer as string[]).map(Number);
      return Array.from({ length: count }, (_, index) =>
        Math.max(0, full + (index + 1) * interval - SECOND - now),
      );
    },
  };
}
