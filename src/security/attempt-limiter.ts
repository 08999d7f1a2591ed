import { createHash } from "node:crypto";
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { MINUTE, SECOND } from "../runtime/durations.ts";

/** `limited`: the try was not made, for there were `maxFailures` in a minute; the next may come after `wait` milliseconds. */
export type LimitedAttempt<T> =
  | { outcome: "made"; result: T | undefined }
  | { outcome: "limited"; maxFailures: number; wait: number };

/**
 * Lets somebody try a secret, and counts the tries that answer undefined: over the limit the next one is refused without
 * being made. A try is counted before it begins, so that many at once are no way around it.
 */
export type AttemptLimiter = <T>(
  identity: readonly string[],
  attempt: () => Promise<T | undefined>,
) => Promise<LimitedAttempt<T>>;

const MAX_FAILURES_PER_MINUTE = 10;

/** Counted in Redis over all processes, and in the process itself while Redis is away. `redis` is an ioredis client that fails fast. */
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
        await refund(); // a fault of ours says nothing about the secret
        throw error;
      }
    });
  };
}

/** One after the other for each key: a try under way may be a right one, and must not count against the next. */
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

/** Milliseconds until the next try, of a refusal by the limiter. */
function waitOf(reason: unknown): number {
  if (reason instanceof RateLimiterRes) return reason.msBeforeNext;
  throw reason;
}
