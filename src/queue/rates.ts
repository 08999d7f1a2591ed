import { SECOND } from "../runtime/durations.ts";
import {
  type Answer,
  BUSY_FULL_MS,
  createLocalBuckets,
  createSharedBuckets,
  rateKey,
  rateOf,
  type SharedAnswer,
  type Wish,
} from "./rate-buckets.ts";
import type { RedisClient } from "./redis.ts";
import { taggedKey, tagOf } from "./wake-ups.ts";

/**
 * Token buckets that limit the messages per second of each channel over all dispatchers: in any t seconds at most
 * rate x (t + 1 s). Each tag of this process has a state:
 * shared: the buckets in Redis decide. Two failed TAKEs in a row, or Redis that is not writable, make the tag local.
 * local: buckets of this process decide, with its share of the rate. A TAKE that succeeds makes the tag returning.
 * returning: both limit, because other dispatchers may still be local. The tag is shared after RETURNING_MS.
 */

export interface ChannelRef {
  clientId: string;
  channelId: string;
}

type ChannelWish = ChannelRef & Wish;

export interface Rates {
  /** Returns for each wish how many tokens it gets, in order. Never fails: without Redis a local bucket decides. */
  take(wishes: readonly ChannelWish[]): Promise<number[]>;
  /** Returns unused tokens of the channel's last take; not awaited, never fails. */
  give(channel: ChannelRef, count: number): void;
  /** Lets this process take no tokens of the channel for some time, because the platform asks for a pause. Never fails. */
  pause(channel: ChannelRef, milliseconds: number): void;
  /** Milliseconds until it is worthwhile to take tokens again; 0 when the last answer left some. */
  sleepOf(channelId: string): number;
}

interface RatesParts {
  redis: RedisClient;
  tags: readonly number[];
  perSecond: number;
  isWritable(): boolean;
  liveDispatchers(): number;
  /** Milliseconds of a monotonic clock. */
  now?(): number;
}

/** A tag stays local for this time after a failed TAKE: otherwise each call would wait for a Redis that hangs. */
const RETRY_MS = 1 * SECOND;
/** After the first failed TAKE no tokens are taken for this time: other dispatchers may still use the whole rate. */
const DOUBT_MS = 250;
/**
 * Longer than a pause between connection attempts (5 s), a probe (1 s) and RETRY_MS together. Two dispatchers that return
 * a second apart would otherwise use the tokens of half a second too many.
 */
const RETURNING_MS = 8 * SECOND;
const pauseKey = (tag: number, channelId: string) => taggedKey(tag, `pause:${channelId}`);

/** The last answer to a channel. It is dropped when its buckets are full again: nothing can be returned to them then. */
interface LastTake {
  /** The answers of the buckets that the tokens came from; both while the tag is returning. */
  shared: SharedAnswer | undefined;
  local: Answer | undefined;
  fullAt: number;
  sleepUntil: number;
}

function toLastTake(time: number, { shared, local }: Pick<LastTake, "shared" | "local">): LastTake {
  const longest = (key: "fullInMs" | "waitMs") => Math.max(shared?.[key] ?? 0, local?.[key] ?? 0);
  return { shared, local, fullAt: time + longest("fullInMs"), sleepUntil: time + longest("waitMs") };
}

export function createRates(parts: RatesParts): Rates {
  const { tags, now = () => performance.now() } = parts;
  const lastTakes = new Map<string, LastTake>();
  /** When the pause of a channel ends. */
  const pauses = new Map<string, number>();
  const bucketsByTag = new Map(tags.map((tag) => [tag, createTagBuckets(tag, { ...parts, now, lastTakes })]));
  const bucketsOf = ({ clientId }: ChannelRef) => bucketsByTag.get(tagOf(clientId, tags)) as TagBuckets;
  let dropAt = 0;

  /** Once a second, so that the maps hold the channels of the last two seconds. */
  function dropFull(): void {
    const time = now();
    if (time < dropAt) return;
    dropAt = time + SECOND;
    for (const [channelId, { fullAt }] of lastTakes) if (fullAt <= time) lastTakes.delete(channelId);
    for (const [channelId, end] of pauses) if (end <= time) pauses.delete(channelId);
    for (const buckets of bucketsByTag.values()) buckets.dropFull(time);
  }

  return {
    async take(wishes) {
      dropFull();
      const groups = new Map<TagBuckets, ChannelWish[]>();
      for (const wish of wishes) {
        const group = groups.get(bucketsOf(wish)) ?? [];
        groups.set(bucketsOf(wish), group);
        group.push(wish);
      }
      const takes = [...groups].map(
        async ([buckets, group]) => [buckets, await buckets.take(group)] as const,
      );
      const grants = new Map(await Promise.all(takes));
      return wishes.map((wish) => grants.get(bucketsOf(wish))?.shift() ?? 0);
    },
    give(channel, count) {
      const last = lastTakes.get(channel.channelId);
      if (last && count > 0) bucketsOf(channel).give(channel.channelId, count, last);
    },
    pause({ clientId, channelId }, milliseconds) {
      pauses.set(channelId, Math.max(pauses.get(channelId) ?? 0, now() + milliseconds));
      // For the queue status only: other dispatchers ask the platform's holds themselves.
      const key = pauseKey(tagOf(clientId, tags), channelId);
      parts.redis.set(key, "", "PX", Math.max(1, Math.ceil(milliseconds))).catch(() => {});
    },
    sleepOf(channelId) {
      const end = Math.max(lastTakes.get(channelId)?.sleepUntil ?? 0, pauses.get(channelId) ?? 0);
      return Math.max(0, end - now());
    },
  };
}

type TagParts = Required<RatesParts> & { lastTakes: Map<string, LastTake> };
type TagBuckets = ReturnType<typeof createTagBuckets>;

/** The buckets of the channels of one tag, and its state. */
function createTagBuckets(tag: number, parts: TagParts) {
  const { perSecond, now, lastTakes } = parts;
  const shared = createSharedBuckets(tag, parts);
  const local = createLocalBuckets();
  let state: "shared" | "local" | "returning" = "shared";
  /** In local: when Redis is asked again, if it is writable. In returning: when the tag becomes shared. */
  let nextStateAt = 0;
  /** When tokens were last used, or may have been, that the buckets in Redis do not know. */
  let unknownUseAt = Number.NEGATIVE_INFINITY;
  /** In shared, after a failed TAKE: when Redis is asked again. */
  let doubtUntil: number | undefined;

  function becomeLocal(askAt: number): void {
    if (state !== "local") local.restart(now());
    state = "local";
    nextStateAt = askAt;
  }

  /** Grants nothing. */
  function refuse(wishes: readonly Wish[], until: number): number[] {
    const refused = { shared: undefined, local: undefined, fullAt: until, sleepUntil: until };
    for (const { channelId } of wishes) lastTakes.set(channelId, refused);
    return wishes.map(() => 0);
  }

  function becomeReturning(): void {
    state = "returning";
    nextStateAt = now() + RETURNING_MS;
  }

  function takeLocal(wishes: readonly Wish[]): Answer[] {
    const rate = rateOf(perSecond / Math.max(1, parts.liveDispatchers()));
    return wishes.map((wish) => local.take(now(), wish, rate));
  }

  function answerLocally(wishes: readonly Wish[], answers: readonly Answer[]): number[] {
    const time = now();
    if (answers.some(({ granted }) => granted > 0)) unknownUseAt = time;
    for (const [index, { channelId }] of wishes.entries())
      lastTakes.set(channelId, toLastTake(time, { shared: undefined, local: answers[index] }));
    return answers.map(({ granted }) => granted);
  }

  /** Takes from Redis, in local and returning at most what the local buckets granted. */
  async function takeShared(
    wishes: readonly Wish[],
    limits: readonly Answer[] | undefined,
  ): Promise<number[]> {
    const counts = wishes.map(({ count }, index) => limits?.[index]?.granted ?? count);
    const answers = await shared.take(wishes, counts, now() - unknownUseAt);
    const time = now();
    for (const [index, answer] of answers.entries()) {
      const { channelId } = wishes[index] as Wish;
      const limit = limits?.[index];
      if (limit) local.give(time, channelId, (limit.granted - answer.granted) * limit.intervalMs);
      lastTakes.set(channelId, toLastTake(time, { shared: answer, local: limit }));
    }
    return answers.map(({ granted }) => granted);
  }

  return {
    async take(wishes: readonly Wish[]): Promise<number[]> {
      shared.flushGives();
      const isWritable = parts.isWritable();
      if (!isWritable) becomeLocal(now());
      if (state === "returning" && now() >= nextStateAt) state = "shared";
      if (state === "shared" && doubtUntil !== undefined && now() < doubtUntil)
        return refuse(wishes, doubtUntil);
      const wasLocal = state === "local";
      const limits = state === "shared" ? undefined : takeLocal(wishes);
      if (limits && wasLocal && (!isWritable || now() < nextStateAt)) return answerLocally(wishes, limits);
      try {
        const granted = await takeShared(wishes, limits);
        doubtUntil = undefined;
        if (wasLocal) becomeReturning();
        return granted;
      } catch {
        unknownUseAt = now(); // Redis may come back without its last second
        if (state === "shared" && doubtUntil === undefined) {
          doubtUntil = now() + DOUBT_MS;
          return refuse(wishes, doubtUntil);
        }
        doubtUntil = undefined;
        becomeLocal(now() + RETRY_MS);
        return answerLocally(wishes, limits && wasLocal ? limits : takeLocal(wishes));
      }
    },
    give(channelId: string, count: number, last: LastTake): void {
      const intervalMs = Math.max(last.shared?.intervalMs ?? 0, last.local?.intervalMs ?? 0);
      last.sleepUntil -= count * intervalMs;
      if (last.local) local.give(now(), channelId, count * last.local.intervalMs);
      if (last.shared) shared.give(channelId, count, last.shared);
    },
    dropFull: local.dropFull,
  };
}

interface LimitParts {
  redis: RedisClient;
  tags: readonly number[];
}

/** Ids of the channels whose bucket is less than half full, or that pause. Throws while Redis is unavailable. */
export async function listLimitedChannels(
  { redis, tags }: LimitParts,
  channels: readonly ChannelRef[],
): Promise<Set<string>> {
  const limited = new Set<string>();
  await Promise.all(
    tags.map(async (tag) => {
      const ids = channels
        .filter(({ clientId }) => tagOf(clientId, tags) === tag)
        .map(({ channelId }) => channelId);
      if (ids.length === 0) return;
      // A bucket expires when it is full.
      const [pauses, buckets] = await Promise.all([
        redis.mget(ids.map((id) => pauseKey(tag, id))),
        redis.pipeline(ids.map((id) => ["pttl", rateKey(tag, id)])).exec(),
      ]);
      for (const [index, id] of ids.entries())
        if (pauses[index] !== null || Number(buckets?.[index]?.[1]) > BUSY_FULL_MS) limited.add(id);
    }),
  );
  return limited;
}
