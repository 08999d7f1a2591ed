import { SECOND } from "../runtime/durations.ts";
import { createLocalBuckets, createSharedBuckets } from "./rate-buckets.ts";
import { type Answer, planTake, type Return, returnTokens, singlesFlag, type Wish } from "./rate-plans.ts";
import type { RedisClient } from "./redis.ts";
import { taggedKey, tagOf } from "./wake-ups.ts";

/**
 * Token buckets that limit the messages per second of each channel over all dispatchers: in any t seconds at most
 * rate x (t + 1 s). rate-plans.ts has the rules by which batches and single messages share it. Each tag of this process has
 * a state:
 * shared: the buckets in Redis decide. Two failed TAKEs in a row, or Redis that is not writable, make the tag local.
 * local: buckets of this process decide, with its share of the rate. A TAKE that succeeds makes the tag returning.
 * returning: both limit, because other dispatchers may still be local. The tag is shared after RETURNING_MS.
 */

export interface ChannelRef {
  clientId: string;
  channelId: string;
}

/** Messages that take tokens together: the single messages of a channel, or a batch. */
export interface RateKey extends ChannelRef {
  /** Empty for single messages. */
  batchId: string;
}

type KeyWish = RateKey & Omit<Wish, "turn">;

export interface Rates {
  /** Returns for each wish how many tokens it gets, in order. Never fails: without Redis a local bucket decides. */
  take(wishes: readonly KeyWish[]): Promise<number[]>;
  /** Returns unused tokens of the key's last take; not awaited, never fails. */
  give(key: RateKey, count: number): void;
  /** Lets all keys of the channel sleep for some time, because the platform asks for a pause. Never fails. */
  pause(channel: ChannelRef, milliseconds: number): void;
  /** Milliseconds until it is worthwhile to take tokens again; 0 when the last answer left some. */
  sleepOf(key: RateKey): number;
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
 * Longer than an attempt to connect (5 s), a probe (1 s) and RETRY_MS together. Two dispatchers that return
 * a second apart would otherwise use the tokens of half a second too many.
 */
const RETURNING_MS = 8 * SECOND;
const pauseKey = (tag: number, channelId: string) => taggedKey(tag, `pause:${channelId}`);

const idOf = ({ channelId, batchId }: Omit<RateKey, "clientId">): string => `${channelId} ${batchId}`;

/** The last answer to a key. It is dropped when its buckets are full again: nothing can be returned to them then. */
interface LastTake {
  /** The answers of the buckets that the tokens came from; both while the tag is returning. */
  shared: Answer | undefined;
  local: Answer | undefined;
  fullAt: number;
  sleepUntil: number;
  /** The turn of the next wish. */
  turn: number;
}

function toLastTake(
  time: number,
  { shared, local, turn }: Pick<LastTake, "shared" | "local" | "turn">,
): LastTake {
  const longest = (key: "fullInMs" | "waitMs") => Math.max(shared?.[key] ?? 0, local?.[key] ?? 0);
  return { shared, local, turn, fullAt: time + longest("fullInMs"), sleepUntil: time + longest("waitMs") };
}

const grantedOf = ({ shared, local }: LastTake): number => (shared ?? local)?.granted ?? 0;

export function createRates(parts: RatesParts): Rates {
  const { tags, now = () => performance.now() } = parts;
  const lastTakes = new Map<string, LastTake>();
  /** When the pause of a channel ends. */
  const pauses = new Map<string, number>();
  const bucketsByTag = new Map(tags.map((tag) => [tag, createTagBuckets(tag, { ...parts, now, lastTakes })]));
  const bucketsOf = ({ clientId }: ChannelRef) => bucketsByTag.get(tagOf(clientId, tags)) as TagBuckets;
  let dropAt = 0;

  /** Once a second, so that the maps hold what was used lately. */
  function dropFull(): void {
    const time = now();
    if (time < dropAt) return;
    dropAt = time + SECOND;
    for (const [id, { fullAt }] of lastTakes) if (fullAt <= time) lastTakes.delete(id);
    for (const [channelId, end] of pauses) if (end <= time) pauses.delete(channelId);
    for (const buckets of bucketsByTag.values()) buckets.dropFull(time);
  }

  return {
    async take(wishes) {
      dropFull();
      const groups = new Map<TagBuckets, KeyWish[]>();
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
    give(key, count) {
      const last = lastTakes.get(idOf(key));
      if (last && count > 0) bucketsOf(key).give(count, last);
    },
    pause({ clientId, channelId }, milliseconds) {
      pauses.set(channelId, Math.max(pauses.get(channelId) ?? 0, now() + milliseconds));
      // For the queue status only: other dispatchers ask the platform's holds themselves.
      const key = pauseKey(tagOf(clientId, tags), channelId);
      parts.redis.set(key, "", "PX", Math.max(1, Math.ceil(milliseconds))).catch(() => {});
    },
    sleepOf(key) {
      const end = Math.max(lastTakes.get(idOf(key))?.sleepUntil ?? 0, pauses.get(key.channelId) ?? 0);
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
  const turnOf = (wish: KeyWish) => lastTakes.get(idOf(wish))?.turn ?? 0;
  let lastTurn = 0;
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
  function refuse(wishes: readonly KeyWish[], until: number): number[] {
    const refused = { shared: undefined, local: undefined, fullAt: until, sleepUntil: until };
    for (const wish of wishes) lastTakes.set(idOf(wish), { ...refused, turn: turnOf(wish) });
    return wishes.map(() => 0);
  }

  function becomeReturning(): void {
    state = "returning";
    nextStateAt = now() + RETURNING_MS;
  }

  /** Wishes as the buckets see them; `limits` are the answers that they may not exceed. */
  const planWishes = (wishes: readonly KeyWish[], divisor: number, limits?: readonly Answer[]) =>
    planTake(
      wishes.map((wish, index) => ({
        ...wish,
        count: limits?.[index]?.granted ?? wish.count,
        turn: turnOf(wish),
      })),
      { perSecond, divisor },
    );

  const takeLocal = (wishes: readonly KeyWish[]): Answer[] =>
    local.take(now(), planWishes(wishes, Math.max(1, parts.liveDispatchers())));

  /** Keeps the last answers to the wishes, of Redis, the local buckets or both; returns the granted tokens. */
  function remember(
    wishes: readonly KeyWish[],
    answers: Partial<Record<"shared" | "local", readonly Answer[] | undefined>>,
  ): number[] {
    const time = now();
    const takes = wishes.map((wish, index) => {
      const [shared, local] = [answers.shared?.[index], answers.local?.[index]];
      return toLastTake(time, { shared, local, turn: turnOf(wish) });
    });
    // The key that got the last token comes last in the next take.
    for (const take of takes.toSorted(
      (one, other) => grantedOf(one) - grantedOf(other) || one.turn - other.turn,
    ))
      if (grantedOf(take) > 0) take.turn = ++lastTurn;
    for (const [index, wish] of wishes.entries()) lastTakes.set(idOf(wish), takes[index] as LastTake);
    return takes.map(grantedOf);
  }

  function answerLocally(wishes: readonly KeyWish[], answers: readonly Answer[]): number[] {
    if (answers.some(({ granted }) => granted > 0)) unknownUseAt = now();
    return remember(wishes, { local: answers });
  }

  /** Takes from Redis, in local and returning at most what the local buckets granted. */
  async function takeShared(
    wishes: readonly KeyWish[],
    limits: readonly Answer[] | undefined,
  ): Promise<number[]> {
    const answers = await shared.take(planWishes(wishes, 1, limits), now() - unknownUseAt);
    for (const [index, limit] of (limits ?? []).entries())
      local.give(now(), returnTokens(limit, limit.granted - (answers[index]?.granted ?? 0)));
    return remember(wishes, { shared: answers, local: limits });
  }

  return {
    async take(wishes: readonly KeyWish[]): Promise<number[]> {
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
    give(count: number, last: LastTake): void {
      const localReturns = last.local ? returnTokens(last.local, count) : [];
      const sharedReturns = last.shared ? returnTokens(last.shared, count) : [];
      last.sleepUntil -= longestOf([...localReturns, ...sharedReturns]);
      local.give(now(), localReturns);
      if (last.shared) shared.give(sharedReturns);
    },
    dropFull: local.dropFull,
  };
}

/** Milliseconds by which returned tokens shorten a sleep. */
const longestOf = (returns: readonly Return[]): number =>
  Math.max(0, ...returns.map(({ time, returnedMs }) => (time.kind === "flag" ? 0 : returnedMs)));

interface LimitParts {
  redis: RedisClient;
  tags: readonly number[];
}

/** Ids of the channels whose single messages wait for tokens, or that pause. Throws while Redis is unavailable. */
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
      const keys = ids.flatMap((id) => [pauseKey(tag, id), taggedKey(tag, singlesFlag(id))]);
      const found = await redis.mget(keys);
      for (const [index, id] of ids.entries())
        if (found[2 * index] !== null || found[2 * index + 1] !== null) limited.add(id);
    }),
  );
  return limited;
}
