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
/** At most, and generously: Redis is given half of it to answer. */
const FORGIVING_TAKES = 1 * SECOND;

/** Counted in Redis over all processes, and in the process itself while Redis is away. `redis` is an ioredis client that fails fast. */
export function createTryLimit(redis: unknown): TryLimit {
  const rule = { keyPrefix: "tries", points: MOST_FAILURES, duration: MINUTE / SECOND };
  const limiter = new RateLimiterRedis({
    ...rule,
    storeClient: redis,
    rejectIfRedisNotReady: true,
    insuranceLimiter: new RateLimiterMemory(rule),
  });
  return async (who, attempt) => {
    const key = createHash("sha256").update(JSON.stringify(who)).digest("base64url");
    const forgive = () => limiter.reward(key).catch(() => {});
    await limiter.consume(key).catch(async (reason: unknown) => {
      if (mayForgive(reason)) await forgive(); // what was not made has not failed
      refuse(reason);
    });
    try {
      const success = await attempt();
      if (success !== undefined) await forgive();
      return success;
    } catch (error) {
      await forgive(); // a fault of ours says nothing about the secret
      throw error;
    }
  };
}

/** Not at the end of the minute: what is given back must not land in the next one, where it would be a try more. */
const mayForgive = (reason: unknown) =>
  reason instanceof RateLimiterRes && reason.msBeforeNext > FORGIVING_TAKES;

function refuse(reason: unknown): never {
  if (!(reason instanceof RateLimiterRes)) throw reason;
  throw new ApiError("rate_limited", `More than ${MOST_FAILURES} failed tries in a minute`, {
    headers: { "Retry-After": String(Math.max(1, Math.ceil(reason.msBeforeNext / SECOND))) },
  });
}
