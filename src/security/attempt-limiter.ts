import { createHash } from "node:crypto";
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { MINUTE, SECOND } from "../runtime/durations.ts";

/** `limited`: not attempted, because `maxFailures` failed within a minute; allowed again after `wait` milliseconds. */
export type LimitedAttempt<T> =
  | { outcome: "made"; result: T | undefined }
  | { outcome: "limited"; maxFailures: number; wait: number };

/**
 * Limits attempts to present a secret. An attempt that returns undefined counts as failed; over the limit, the next one
 * is rejected without running. Attempts are counted before they run, so that concurrent ones cannot bypass the limit.
 */
export type AttemptLimiter = <T>(
  identity: readonly string[],
  attempt: () => Promise<T | undefined>,
) => Promise<LimitedAttempt<T>>;

const MAX_FAILURES_PER_MINUTE = 10;

/**
 * Counts in Redis across all processes, or in this process while Redis is unavailable. `redis` is an ioredis client
 * that fails fast.
 */
export function createAttemptLimiter(redis: unknown): AttemptLimiter {
  const rule = { keyPrefix: "tries", points: MAX_FAILURES_PER_MINUTE, duration: MINUTE / SECOND };
  const limiter = new RateLimiterRedis({
    ...rule,
    storeClient: redis,
    rejectIfRedisNotReady: true,
    insuranceLimiter: new RateLimiterMemory(rule),
  });
  const runInOrder = createKeyedQueue();
  return (identity, attempt) => {
    const key = createHash("sha256").update(JSON.stringify(identity)).digest("base64url");
    return runInOrder(key, async () => {
      const wait = await limiter.consume(key).then(() => undefined, waitOf);
      if (wait !== undefined) return { outcome: "limited", maxFailures: MAX_FAILURES_PER_MINUTE, wait };
      const refund = () => limiter.reward(key).catch(() => {});
      try {
        const result = await attempt();
        if (result !== undefined) await refund();
        return { outcome: "made", result };
      } catch (error) {
        await refund(); // an unexpected error proves nothing about the secret
        throw error;
      }
    });
  };
}

/** Runs the work of each key in sequence: a running attempt may succeed and must not count against the next one. */
function createKeyedQueue(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const current = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, current);
    const cleanUp = () => last.get(key) === current && last.delete(key);
    current.then(cleanUp, cleanUp);
    return current;
  };
}

/** Milliseconds until the next attempt is allowed, taken from the limiter's rejection. */
function waitOf(reason: unknown): number {
  if (reason instanceof RateLimiterRes) return reason.msBeforeNext;
  throw reason;
}
