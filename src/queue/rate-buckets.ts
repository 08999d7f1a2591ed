import { SECOND } from "../runtime/durations.ts";
import type { RedisClient } from "./redis.ts";
import { taggedKey } from "./wake-ups.ts";

/**
 * The token buckets of channels, in Redis and in this process. A bucket has the tokens of CAPACITY_MS and is stored as the
 * time at which it is full again.
 */

/** A channel that wants to send messages. */
export interface Wish {
  channelId: string;
  count: number;
}

/** A tenth less than the promise: requests start a little after their tokens were taken, with delays that vary. */
const CAPACITY_MS = 0.9 * SECOND;
/** A channel whose bucket needs longer to be full uses its rate up: its messages wait for tokens. */
export const BUSY_FULL_MS = CAPACITY_MS / 2;
/** An empty channel sleeps until the tokens of this time are there: its backlog is claimed in batches, not row by row. */
const REFILL_MS = 50;
/** The client repeats a GIVE after a lost connection, at least 100 ms later: it may already have run. */
const MAX_GIVE_DELAY_MS = 80;

export const rateKey = (tag: number, channelId: string) => taggedKey(tag, `rate:${channelId}`);
const sinceKey = (tag: number) => taggedKey(tag, "since");

/**
 * KEYS: since, then a bucket per wish. ARGV: interval, capacity,
 * milliseconds since local buckets were used, because the bucket counts as empty at that time; then the count of each wish.
 * Returns the time, then for each wish the granted tokens and when the bucket is full again.
 * The clock may have been set back: `since` is never in the future, and a bucket never emptier than empty.
 */
const TAKE = `
  local time = redis.call("time")
  local now = time[1] * 1000 + time[2] / 1000
  local interval, capacity, local_age = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
  local since = tonumber(redis.call("get", KEYS[1]) or now + 1)
  if since > now then
    since = now
    redis.call("set", KEYS[1], string.format("%.3f", now))
  end
  local answer = { string.format("%.3f", now) }
  for i = 2, #KEYS do
    local stored = tonumber(redis.call("get", KEYS[i]) or since + capacity)
    local full = math.min(math.max(stored, now, now - local_age + capacity), now + capacity)
    local granted = math.min(tonumber(ARGV[i + 2]), math.floor((now + capacity - full) / interval))
    full = full + granted * interval
    if full > now then
      redis.call("set", KEYS[i], string.format("%.3f", full), "px", math.ceil(full - now))
    end
    answer[#answer + 1] = granted
    answer[#answer + 1] = string.format("%.3f", full)
  end
  return answer`;

/**
 * KEYS: buckets. ARGV: interval, the latest time at which the script may run; then for each bucket the count, and when the
 * bucket was to be full after the take. Later than that nothing is returned: the bucket has refilled without these tokens,
 * and others may have taken them.
 */
const GIVE = `
  local time = redis.call("time")
  local now = time[1] * 1000 + time[2] / 1000
  local interval, latest = tonumber(ARGV[1]), tonumber(ARGV[2])
  if now > latest then return end
  for i, key in ipairs(KEYS) do
    local full = tonumber(redis.call("get", key) or "0")
    local returned = math.min(tonumber(ARGV[2 * i + 1]) * interval, tonumber(ARGV[2 * i + 2]) - now)
    if full > now and returned > 0 then
      full = math.max(now, full - returned)
      redis.call("set", key, string.format("%.3f", full), "px", math.max(1, math.ceil(full - now)))
    end
  end`;

export interface Rate {
  intervalMs: number;
  capacityMs: number;
}

export function rateOf(perSecond: number): Rate {
  const intervalMs = SECOND / perSecond;
  return { intervalMs, capacityMs: Math.max(CAPACITY_MS, intervalMs) };
}

/** The answer of one bucket to one wish. */
export interface Answer {
  granted: number;
  intervalMs: number;
  /** Milliseconds until the bucket is full again. */
  fullInMs: number;
  /** Milliseconds until it is worthwhile to ask again. */
  waitMs: number;
}

function answerOf(granted: number, fullInMs: number, { intervalMs, capacityMs }: Rate): Answer {
  const refillMs = Math.max(1, Math.floor(REFILL_MS / intervalMs)) * intervalMs;
  const hasToken = fullInMs + intervalMs <= capacityMs;
  return { granted, intervalMs, fullInMs, waitMs: hasToken ? 0 : fullInMs + refillMs - capacityMs };
}

/** The answer of a bucket in Redis. */
export interface SharedAnswer extends Answer {
  /** When the bucket is full again, in Redis' clock. */
  fullAt: number;
}

/** The buckets of this process. A missing one was empty at the last restart and is full later, as in Redis. */
export function createLocalBuckets() {
  const fullTimes = new Map<string, number>();
  let emptyAt = Number.NEGATIVE_INFINITY;
  return {
    /** Makes all buckets empty. */
    restart(time: number): void {
      fullTimes.clear();
      emptyAt = time;
    },
    take(time: number, { channelId, count }: Wish, rate: Rate): Answer {
      const fullAt = Math.max(fullTimes.get(channelId) ?? emptyAt + rate.capacityMs, time);
      const room = Math.floor((time + rate.capacityMs - fullAt) / rate.intervalMs);
      const granted = Math.max(0, Math.min(count, room));
      fullTimes.set(channelId, fullAt + granted * rate.intervalMs);
      return answerOf(granted, fullAt + granted * rate.intervalMs - time, rate);
    },
    give(time: number, channelId: string, returnedMs: number): void {
      const fullAt = fullTimes.get(channelId);
      if (fullAt !== undefined) fullTimes.set(channelId, Math.max(time, fullAt - returnedMs));
    },
    dropFull(time: number): void {
      for (const [channelId, fullAt] of fullTimes) if (fullAt <= time) fullTimes.delete(channelId);
    },
  };
}

/** Time, then for each wish the granted tokens and when the bucket is full again. */
type TakeAnswer = [string, ...(number | string)[]];

interface SharedParts {
  redis: RedisClient;
  perSecond: number;
  /** Milliseconds of a monotonic clock. */
  now(): number;
}

/** The buckets in Redis. Gives of the same turn of the event loop share a round trip. */
export function createSharedBuckets(tag: number, { redis, perSecond, now }: SharedParts) {
  const rate = rateOf(perSecond);
  const gives = new Map<string, { count: number; fullAt: number }>();
  /** Redis' clock less that of this process. A late answer makes it too small, so it follows smaller ones slowly. */
  let clockOffset = Number.NEGATIVE_INFINITY;

  function flushGives(): void {
    if (gives.size === 0) return;
    const keys = [...gives.keys()].map((channelId) => rateKey(tag, channelId));
    const returns = [...gives.values()].flatMap(({ count, fullAt }) => [count, fullAt]);
    gives.clear();
    const latest = now() + clockOffset + MAX_GIVE_DELAY_MS;
    redis.eval(GIVE, keys.length, ...keys, rate.intervalMs, latest, ...returns).catch(() => {});
  }

  return {
    flushGives,
    async take(
      wishes: readonly Wish[],
      counts: readonly number[],
      localAge: number,
    ): Promise<SharedAnswer[]> {
      const keys = [sinceKey(tag), ...wishes.map(({ channelId }) => rateKey(tag, channelId))];
      const settings = [rate.intervalMs, rate.capacityMs, Math.min(localAge, rate.capacityMs)];
      const answer = await redis.eval(TAKE, keys.length, ...keys, ...settings, ...counts);
      const [time, ...fields] = answer as TakeAnswer;
      clockOffset = Math.max(Number(time) - now(), clockOffset - 1);
      return wishes.map((_, index) => {
        const [granted, fullAt] = [Number(fields[2 * index]), Number(fields[2 * index + 1])];
        return { ...answerOf(granted, fullAt - Number(time), rate), fullAt };
      });
    },
    give(channelId: string, count: number, taken: SharedAnswer): void {
      if (gives.size === 0) setImmediate(flushGives);
      const give = gives.get(channelId) ?? { count: 0, fullAt: taken.fullAt };
      gives.set(channelId, { ...give, count: give.count + count });
      // A later give of the same take finds the bucket as if these tokens had not been taken.
      taken.fullAt -= count * rate.intervalMs;
    },
  };
}
