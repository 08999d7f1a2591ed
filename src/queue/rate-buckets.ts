import {
  type Answer,
  answersOf,
  type Limit,
  type Outcome,
  type Plan,
  type Return,
  type Step,
  tokensOf,
} from "./rate-plans.ts";
import type { RedisClient } from "./redis.ts";
import { taggedKey } from "./wake-ups.ts";

/** The token buckets in Redis and in this process. Both carry out the plans of rate-plans.ts in the same way. */

/** The client repeats a GIVE after a lost connection, at least 100 ms later: it may already have run. */
const MAX_GIVE_DELAY_MS = 80;

const sinceKey = (tag: number) => taggedKey(tag, "since");

/**
 * KEYS: since, then the times of the plan. ARGV: the plan (see `encode`), and the milliseconds since local buckets were used,
 * because the buckets count as empty at that time. Returns the time, the tokens of each step, and the times after them.
 * The clock may have been set back: `since` is never in the future, and a bucket never emptier than empty. `unpack` allows
 * 8,000 keys: the claim loop knows 1,000 keys at most, with four times each.
 */
const TAKE = `
  local time = redis.call("time")
  local now = time[1] * 1000 + time[2] / 1000
  local plan, local_age = cjson.decode(ARGV[1]), tonumber(ARGV[2])
  local since = tonumber(redis.call("get", KEYS[1]) or now + 1)
  if since > now then
    since = now
    redis.call("set", KEYS[1], string.format("%.3f", now))
  end

  local intervals, capacities, are_flags = plan.intervals, plan.capacities, plan.are_flags
  local found = redis.call("mget", unpack(KEYS, 2))
  local stored, times, granted = {}, {}, {}
  for i, capacity in ipairs(capacities) do
    stored[i] = tonumber(found[i])
    local full = stored[i] or (are_flags[i] and now or since + capacity)
    if not are_flags[i] then full = math.max(full, now - local_age + capacity) end
    times[i] = math.min(math.max(full, now), now + capacity)
  end
  for i in ipairs(plan.counts) do granted[i] = 0 end

  local function tokens(limit)
    local bucket, floor, flag = limit[1], limit[2], limit[3]
    if flag and times[flag] > now then floor = limit[4] end
    return math.floor((now + capacities[bucket] - times[bucket] - floor) / intervals[bucket])
  end
  local function available(step)
    local count = plan.counts[step[1]] - granted[step[1]]
    for _, limit in ipairs(step[2]) do count = math.min(count, tokens(limit)) end
    return count
  end

  local answer = { string.format("%.3f", now) }
  for _, pass in ipairs(plan.passes) do
    local first = #answer
    for i = 1, #pass do answer[first + i] = 0 end
    repeat
      local least, fewest, most, is_done = math.huge, math.huge, 0, true
      for _, step in ipairs(pass) do
        local count = available(step)
        if count > 0 then
          least, is_done = math.min(least, count), false
          fewest, most = math.min(fewest, granted[step[1]]), math.max(most, granted[step[1]])
        end
      end
      local turn = fewest == most and math.max(1, math.floor(least / #pass)) or 1
      for i, step in ipairs(pass) do
        local count = granted[step[1]] == fewest and math.min(turn, available(step)) or 0
        if count > 0 then
          answer[first + i] = answer[first + i] + count
          granted[step[1]] = granted[step[1]] + count
          for _, limit in ipairs(step[2]) do
            times[limit[1]] = times[limit[1]] + count * intervals[limit[1]]
          end
        end
      end
    until is_done
  end

  for wish, flag in ipairs(plan.flags) do
    if plan.counts[wish] > 0 then times[flag[1]] = now end
  end
  for wish, flag in ipairs(plan.flags) do
    local is_waiting = granted[wish] < plan.counts[wish]
    for _, bucket in ipairs(flag[2]) do is_waiting = is_waiting and tokens({ bucket, 0 }) > 0 end
    if is_waiting then times[flag[1]] = now + capacities[flag[1]] end
  end

  for i, full in ipairs(times) do
    if full <= now then
      if stored[i] then redis.call("del", KEYS[i + 1]) end
    elseif full ~= stored[i] then
      redis.call("set", KEYS[i + 1], string.format("%.3f", full), "px", math.ceil(full - now))
    end
    answer[#answer + 1] = string.format("%.3f", full)
  end
  return answer`;

/** Lua counts from 1. Arrays are shorter than objects. */
function encode({ times, counts, passes, flags }: Plan): string {
  const encodeLimit = ({ bucket, floorMs, flag, flaggedFloorMs }: Limit) =>
    flag === undefined ? [bucket + 1, floorMs] : [bucket + 1, floorMs, flag + 1, flaggedFloorMs];
  return JSON.stringify({
    intervals: times.map(({ intervalMs }) => intervalMs),
    capacities: times.map(({ capacityMs }) => capacityMs),
    are_flags: times.map(({ kind }) => kind === "flag"),
    counts,
    passes: passes.map((pass) => pass.map(({ wish, limits }) => [wish + 1, limits.map(encodeLimit)])),
    flags: flags.map(({ flag, needed }) => [flag + 1, needed.map((bucket) => bucket + 1)]),
  });
}

/**
 * KEYS: times. ARGV: the latest time at which the script may run; then for each key the milliseconds to return, and the time
 * after the take. Later than that nothing is returned: the bucket has refilled without these tokens, and others may have
 * taken them.
 */
const GIVE = `
  local time = redis.call("time")
  local now = time[1] * 1000 + time[2] / 1000
  local latest = tonumber(ARGV[1])
  if now > latest then return end
  for i, key in ipairs(KEYS) do
    local full = tonumber(redis.call("get", key) or "0")
    local returned = math.min(tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1]) - now)
    if full > now and returned > 0 then
      full = full - returned
      if full > now then
        redis.call("set", key, string.format("%.3f", full), "px", math.ceil(full - now))
      else
        redis.call("del", key)
      end
    end
  end`;

/** The buckets of this process. A missing one was empty at the last restart and is full later, as in Redis. */
export function createLocalBuckets() {
  const stored = new Map<string, number>();
  let emptyAt = Number.NEGATIVE_INFINITY;
  return {
    /** Makes all buckets empty. */
    restart(now: number): void {
      stored.clear();
      emptyAt = now;
    },
    take(now: number, plan: Plan): Answer[] {
      const times = plan.times.map(({ name, kind, capacityMs }) =>
        Math.max(stored.get(name) ?? (kind === "flag" ? now : emptyAt + capacityMs), now),
      );
      const outcome = { now, times, grants: [] };
      carryOut(plan, outcome);
      for (const [index, { name }] of plan.times.entries()) stored.set(name, times[index] as number);
      return answersOf(plan, outcome);
    },
    give(now: number, returns: readonly Return[]): void {
      for (const { time, returnedMs } of returns) {
        const fullAt = stored.get(time.name);
        if (fullAt !== undefined) stored.set(time.name, Math.max(now, fullAt - returnedMs));
      }
    },
    dropFull(now: number): void {
      for (const [name, fullAt] of stored) if (fullAt <= now) stored.delete(name);
    },
  };
}

/** The same as TAKE. A turn goes to the steps whose wishes have the fewest tokens so far. */
function carryOut(plan: Plan, outcome: Outcome): void {
  const granted = plan.counts.map(() => 0);
  const grantedTo = ({ wish }: Step) => granted[wish] as number;
  const available = (step: Step) =>
    Math.min(
      (plan.counts[step.wish] as number) - grantedTo(step),
      ...step.limits.map((limit) => tokensOf(plan, limit, outcome)),
    );
  for (const pass of plan.passes) {
    const grants = pass.map(() => 0);
    for (;;) {
      const open = pass.filter((step) => available(step) > 0);
      if (open.length === 0) break;
      const fewest = Math.min(...open.map(grantedTo));
      const isEven = open.every((step) => grantedTo(step) === fewest);
      const turn = isEven ? Math.max(1, Math.floor(Math.min(...open.map(available)) / pass.length)) : 1;
      for (const [index, step] of pass.entries()) {
        const count = grantedTo(step) === fewest ? Math.max(0, Math.min(turn, available(step))) : 0;
        grants[index] = (grants[index] as number) + count;
        granted[step.wish] = grantedTo(step) + count;
        for (const { bucket } of step.limits)
          outcome.times[bucket] =
            (outcome.times[bucket] as number) + count * (plan.times[bucket]?.intervalMs ?? 0);
      }
    }
    outcome.grants.push(...grants);
  }
  setFlags(plan, outcome, granted);
}

function setFlags(plan: Plan, outcome: Outcome, granted: readonly number[]): void {
  const { now, times } = outcome;
  const countOf = (wish: number) => plan.counts[wish] as number;
  for (const [wish, { flag }] of plan.flags.entries()) if (countOf(wish) > 0) times[flag] = now;
  for (const [wish, { flag, needed }] of plan.flags.entries()) {
    const isWaiting =
      (granted[wish] as number) < countOf(wish) &&
      needed.every((bucket) => tokensOf(plan, { bucket, floorMs: 0 }, outcome) > 0);
    if (isWaiting) times[flag] = now + (plan.times[flag]?.capacityMs ?? 0);
  }
}

interface SharedParts {
  redis: RedisClient;
  /** Milliseconds of a monotonic clock. */
  now(): number;
}

/** The buckets in Redis. Gives of the same turn of the event loop share a round trip. */
export function createSharedBuckets(tag: number, { redis, now }: SharedParts) {
  const gives = new Map<string, { returnedMs: number; fullAt: number }>();
  /** Redis' clock less that of this process. A late answer makes it too small, so it follows smaller ones slowly. */
  let clockOffset = Number.NEGATIVE_INFINITY;

  function flushGives(): void {
    if (gives.size === 0) return;
    const keys = [...gives.keys()].map((name) => taggedKey(tag, name));
    const returns = [...gives.values()].flatMap(({ returnedMs, fullAt }) => [returnedMs, fullAt]);
    gives.clear();
    const latest = now() + clockOffset + MAX_GIVE_DELAY_MS;
    redis.eval(GIVE, keys.length, ...keys, latest, ...returns).catch(() => {});
  }

  return {
    flushGives,
    async take(plan: Plan, localAge: number): Promise<Answer[]> {
      const keys = [sinceKey(tag), ...plan.times.map(({ name }) => taggedKey(tag, name))];
      const farthest = Math.max(...plan.times.map(({ capacityMs }) => capacityMs));
      const answer = await redis.eval(TAKE, keys.length, ...keys, encode(plan), Math.min(localAge, farthest));
      const [time, ...fields] = (answer as (string | number)[]).map(Number) as [number, ...number[]];
      clockOffset = Math.max(time - now(), clockOffset - 1);
      const times = fields.splice(-plan.times.length);
      return answersOf(plan, { now: time, times, grants: fields });
    },
    give(returns: readonly Return[]): void {
      if (gives.size === 0) setImmediate(flushGives);
      for (const { time, returnedMs, fullAt } of returns) {
        const give = gives.get(time.name) ?? { returnedMs: 0, fullAt };
        gives.set(time.name, { ...give, returnedMs: give.returnedMs + returnedMs });
      }
    },
  };
}
