import { SECOND } from "../runtime/durations.ts";

/**
 * The rules by which the single messages and the batches of a channel share its rate, as data that Redis and the local
 * buckets carry out (rate-buckets.ts). A take has three passes for each channel:
 * share: batches get a tenth of the rate, even if single messages wait.
 * singles: single messages get the rest. While a batch waits for tokens of its share, they leave it those of 50 ms.
 * surplus: batches get what lies above a reserve, unless single messages wait. The reserve lets a single message that
 * comes while a batch runs start at once.
 * Each token goes to the batch with the fewest in this take; of equal ones to the one that has waited longest. A batch with
 * a rate of its own takes its tokens from a bucket of that rate too.
 */

/** The single messages or a batch of a channel, and how many of them want to be sent. */
export interface Wish {
  channelId: string;
  /** Empty for single messages. */
  batchId: string;
  /** The batch's own rate. */
  perSecond: number | null;
  count: number;
  /** Increases with each token of a batch: the batch with the smallest number comes first. */
  turn: number;
}

/** A tenth less than the promise: requests start a little after their tokens were taken, with delays that vary. */
const CAPACITY_MS = 0.9 * SECOND;
/** An empty bucket is asked again when it has the tokens of this time: its backlog is claimed in groups, not row by row. */
const REFILL_MS = 50;
/** One of so many tokens is for batches while single messages wait. */
const SHARE_DIVISOR = 10;
/** A flag lasts this much longer than the channel needs for a token: a key that waits has asked again before it ends. */
const FLAG_MARGIN_MS = 0.5 * SECOND;

/** A bucket, stored as the time at which it is full; or a flag, stored as the time at which it ends. */
interface StoredTime {
  name: string;
  kind: "bucket" | "share" | "flag";
  /** Of a token; for a flag its duration. */
  intervalMs: number;
  /** The farthest that the time can lie ahead. */
  capacityMs: number;
}

/** Buckets and flags are named by their indexes in `times`, wishes by theirs in `counts`. */
export interface Plan {
  times: StoredTime[];
  counts: number[];
  /** Steps whose wishes have equally many tokens take turns, in this order. */
  passes: Step[][];
  /** One for each wish. */
  flags: WishFlag[];
}

export interface Step {
  wish: number;
  limits: readonly Limit[];
}

/** Tokens may be taken from the bucket if those of `floorMs` are left, or of `flaggedFloorMs` while the flag is set. */
export interface Limit {
  bucket: number;
  floorMs: number;
  flag?: number;
  flaggedFloorMs?: number;
}

/** The flag is set when the wish is not granted in full although the needed buckets have tokens, and else cleared. */
interface WishFlag {
  flag: number;
  needed: readonly number[];
}

export const singlesFlag = (channelId: string) => `singles-waiting:${channelId}`;

type Timing = Pick<StoredTime, "intervalMs" | "capacityMs">;

function timingOf(perSecond: number): Timing {
  const intervalMs = SECOND / perSecond;
  return { intervalMs, capacityMs: Math.max(CAPACITY_MS, intervalMs) };
}

/** The share gains tokens while a batch waits for the channel's next token: else batches would get less than a tenth. */
const shareTimingOf = ({ intervalMs }: Timing): Timing => ({
  intervalMs: SHARE_DIVISOR * intervalMs,
  capacityMs: Math.max(SECOND, (SHARE_DIVISOR + 1) * intervalMs),
});

function flagTimingOf({ intervalMs }: Timing): Timing {
  const durationMs = intervalMs + FLAG_MARGIN_MS;
  return { intervalMs: durationMs, capacityMs: durationMs };
}

const refillMsOf = ({ intervalMs }: Timing): number =>
  Math.max(1, Math.floor(REFILL_MS / intervalMs)) * intervalMs;

/** Leaves place for a token and the time by which it may be taken late: a batch alone gets the whole rate. */
const reserveMsOf = ({ intervalMs, capacityMs }: Timing): number =>
  Math.max(0, Math.min(capacityMs / 2, capacityMs - intervalMs - REFILL_MS));

interface RateParts {
  /** The rate of a channel. */
  perSecond: number;
  /** Processes that divide all rates evenly, because each has buckets of its own. */
  divisor: number;
}

export function planTake(wishes: readonly Wish[], { perSecond, divisor }: RateParts): Plan {
  const plan: Plan = { times: [], counts: wishes.map(({ count }) => count), passes: [], flags: [] };
  const timing = timingOf(perSecond / divisor);
  const parts: ChannelParts = {
    ...{ plan, divisor, channel: timing, share: shareTimingOf(timing), flag: flagTimingOf(timing) },
    ...{ refillMs: refillMsOf(timing), reserveMs: reserveMsOf(timing) },
  };
  const groups = new Map<string, IndexedWish[]>();
  for (const [index, wish] of wishes.entries()) {
    const group = groups.get(wish.channelId);
    if (group) group.push({ index, wish });
    else groups.set(wish.channelId, [{ index, wish }]);
  }
  for (const [channelId, group] of groups) planChannel(channelId, group, parts);
  return plan;
}

interface IndexedWish {
  index: number;
  wish: Wish;
}

/** The plan to extend, and what is the same for all channels. */
interface ChannelParts {
  plan: Plan;
  divisor: number;
  channel: Timing;
  share: Timing;
  flag: Timing;
  refillMs: number;
  reserveMs: number;
}

const add = (plan: Plan, name: string, kind: StoredTime["kind"], timing: Timing): number =>
  plan.times.push({ name, kind, intervalMs: timing.intervalMs, capacityMs: timing.capacityMs }) - 1;

function planChannel(channelId: string, wishes: readonly IndexedWish[], parts: ChannelParts): void {
  const { plan } = parts;
  const bucket = add(plan, `rate:${channelId}`, "bucket", parts.channel);
  const singlesWait = add(plan, singlesFlag(channelId), "flag", parts.flag);
  const batchesWait = add(plan, `batches-waiting:${channelId}`, "flag", parts.flag);
  const rest = { bucket, floorMs: 0, flag: batchesWait, flaggedFloorMs: parts.refillMs };
  const singles = wishes.filter(({ wish }) => wish.batchId === "");
  const singlesPass = singles.map(({ index }) => ({ wish: index, limits: [rest] }));
  for (const { index } of singles) plan.flags[index] = { flag: singlesWait, needed: [] };
  const batches = wishes.filter(({ wish }) => wish.batchId !== "");
  if (batches.length === 0) {
    plan.passes.push(singlesPass);
    return;
  }
  const share = add(plan, `share:${channelId}`, "share", parts.share);
  const surplus = {
    ...{ bucket, floorMs: parts.reserveMs },
    ...{ flag: singlesWait, flaggedFloorMs: parts.channel.capacityMs },
  };
  const limited = batches
    .sort((one, other) => one.wish.turn - other.wish.turn)
    .map(({ index, wish }) => ({ index, own: addOwnBucket(wish, parts) }));
  for (const { index, own } of limited) plan.flags[index] = { flag: batchesWait, needed: [...own, share] };
  plan.passes.push(
    limited.map(({ index, own }) => ({ wish: index, limits: [...own, share, bucket].map(limitOf) })),
    ...(singles.length > 0 ? [singlesPass] : []),
    limited.map(({ index, own }) => ({ wish: index, limits: [...own.map(limitOf), surplus] })),
  );
}

/** Returns the bucket of the batch's own rate, if it has one. Two wishes of a batch have one bucket. */
function addOwnBucket({ batchId, perSecond }: Wish, { plan, divisor }: ChannelParts): number[] {
  if (perSecond === null) return [];
  const name = `rate:${batchId}`;
  const index = plan.times.findIndex((time) => time.name === name);
  return [index >= 0 ? index : add(plan, name, "bucket", timingOf(perSecond / divisor))];
}

const limitOf = (bucket: number): Limit => ({ bucket, floorMs: 0 });

/** The times while a take is carried out, in the clock of the buckets. */
export interface Times {
  now: number;
  times: number[];
}

/** The times after a take, and the tokens of each step. */
export interface Outcome extends Times {
  grants: number[];
}

const isFlagged = ({ flag }: Limit, { now, times }: Times): boolean =>
  flag !== undefined && (times[flag] as number) > now;

/** Returns how many tokens the limit allows; may be negative. */
export function tokensOf(plan: Plan, limit: Limit, state: Times): number {
  const { intervalMs, capacityMs } = plan.times[limit.bucket] as StoredTime;
  const floorMs = isFlagged(limit, state) ? (limit.flaggedFloorMs ?? 0) : limit.floorMs;
  const roomMs = state.now + capacityMs - (state.times[limit.bucket] as number) - floorMs;
  return Math.floor(roomMs / intervalMs);
}

/** Milliseconds until it is worthwhile to ask again. A flag may be cleared at any time, so its end is not awaited. */
function waitOf(plan: Plan, limit: Limit, state: Times): number {
  if (tokensOf(plan, limit, state) > 0) return 0;
  const timing = plan.times[limit.bucket] as StoredTime;
  const refillMs = refillMsOf(timing);
  const fullInMs = (state.times[limit.bucket] as number) - state.now;
  const leastMs = isFlagged(limit, state) ? refillMs : 1;
  return Math.max(leastMs, fullInMs + limit.floorMs + refillMs - timing.capacityMs);
}

/** A stored time after a take. The answers of a take have it in common: a give is seen by later ones. */
interface TakenTime extends Omit<StoredTime, "capacityMs"> {
  /** When the bucket is full again, or the flag ends, in the clock of the buckets. */
  fullAt: number;
}

/** The answer to one wish. */
export interface Answer {
  granted: number;
  /** Milliseconds until its buckets are full again. */
  fullInMs: number;
  /** Milliseconds until it is worthwhile to ask again. */
  waitMs: number;
  /** Buckets that get returned tokens, at most so many; and the flag that a give ends. */
  sources: { time: TakenTime; most: number }[];
}

export function answersOf(plan: Plan, outcome: Outcome): Answer[] {
  const taken = plan.times.map(({ name, kind, intervalMs }, index): TakenTime => {
    const fullAt = outcome.times[index] as number;
    return { name, kind, intervalMs, fullAt };
  });
  const answers = plan.flags.map(({ flag }): Answer => {
    const source = { time: taken[flag] as TakenTime, most: Number.POSITIVE_INFINITY };
    return { granted: 0, fullInMs: 0, waitMs: Number.POSITIVE_INFINITY, sources: [source] };
  });
  let index = 0;
  for (const pass of plan.passes)
    for (const { wish, limits } of pass) {
      const answer = answers[wish] as Answer;
      const granted = outcome.grants[index++] ?? 0;
      let waitMs = 0;
      for (const limit of limits) {
        waitMs = Math.max(waitMs, waitOf(plan, limit, outcome));
        addSource(answer, taken[limit.bucket] as TakenTime, granted);
      }
      answer.waitMs = Math.min(answer.waitMs, waitMs);
      answer.granted += granted;
    }
  for (const answer of answers)
    for (const { time } of answer.sources)
      answer.fullInMs = Math.max(answer.fullInMs, time.fullAt - outcome.now);
  return answers;
}

/** Tokens of earlier takes are returned too, but they may not have come from the share. */
function addSource({ sources }: Answer, time: TakenTime, granted: number): void {
  if (sources.some((source) => source.time === time)) return;
  sources.push({ time, most: time.kind === "share" ? granted : Number.POSITIVE_INFINITY });
}

/** A time that is set back because tokens are returned. */
export interface Return {
  time: TakenTime;
  returnedMs: number;
  /** The time after the take, less what was returned before. */
  fullAt: number;
}

/** Returns unused tokens to all buckets that they came from, and ends the flag: nothing waits for tokens then. */
export function returnTokens({ sources }: Answer, count: number): Return[] {
  const returns = sources.map((source) => {
    const { time } = source;
    const { fullAt } = time;
    const returned = Math.min(count, source.most);
    source.most -= returned;
    time.fullAt -= returned * time.intervalMs;
    return { time, returnedMs: returned * time.intervalMs, fullAt };
  });
  return returns.filter(({ returnedMs }) => returnedMs > 0);
}
