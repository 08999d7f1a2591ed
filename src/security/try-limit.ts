import { createHash } from "node:crypto";
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { MINUTE, SECOND } from "../runtime/durations.ts";
import { ApiError } from "../runtime/errors.ts";

/**
 * Lets somebody try a secret, and counts the tries that answer undefined: over the limit the next one is refused without
 * being made. A try is counted before it begins, so that many at once are no way around it.
 */
export type TryLimit = <T>(
  who: readonly string[],
  attempt: () => Promise<T | undefined>,
) => Promise<T | undefined>;

const MOST_FAILURES = 10;

/** Counted in Redis over all processes, and in the process itself while Redis is away. `redis` is an ioredis client that fails fast. */
export function createTryLimit(redis: unknown): TryLimit {
  const rule = { keyPrefix: "tries", points: MOST_FAILURES, duration: MINUTE / SECOND };
  const limiter = new RateLimiterRedis({
    ...rule,
    storeClient: redis,
    rejectIfRedisNotReady: true,
    insuranceLimiter: new RateLimiterMemory(rule),
  });
  const lines = createLines();
  return (who, attempt) => {
    const key = createHash("sha256").update(JSON.stringify(who)).digest("base64url");
    return lines(key, async () => {
      await limiter.consume(key).catch(refuse);
      const forgive = () => limiter.reward(key).catch(() => {});
      try {
        const success = await attempt();
        if (success !== undefined) await forgive();
        return success;
      } catch (error) {
        await forgive(); // a fault of ours says nothing about the secret
        throw error;
      }
    });
  };
}

/** One after the other for each key: a try under way may be a right one, and must not count against the next. */
function createLines(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const mine = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, mine);
    const forget = () => last.get(key) === mine && last.delete(key);
    mine.then(forget, forget);
    return mine;
  };
}

function refuse(reason: unknown): never {
  if (!(reason instanceof RateLimiterRes)) throw reason;
  throw new ApiError("rate_limited", `More than ${MOST_FAILURES} failed tries in a minute`, {
    headers: { "Retry-After": String(Math.max(1, Math.ceil(reason.msBeforeNext / SECOND))) },
  });
}
