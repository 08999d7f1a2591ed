import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { MINUTE, SECOND } from "../runtime/durations.ts";
import { ApiError } from "../runtime/errors.ts";
import type { Log } from "../runtime/log.ts";

/** Counts one request of a client. `headers` tell it where it stands; over the limit it throws, with the same headers. */
export type RateLimit = (clientId: string) => Promise<Record<string, string>>;

interface RateLimitOptions {
  perMinute: number;
  /** An ioredis client that fails fast when Redis is away. */
  redis: unknown;
  log: Log;
}

/** After Redis failed, requests pass without asking it for this long: each would only wait for the same failure. */
const REST = 1 * SECOND;

export function createRateLimit({ perMinute, redis, log }: RateLimitOptions): RateLimit {
  if (perMinute === 0) return async () => ({});
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: "rate",
    points: perMinute,
    duration: MINUTE / SECOND,
    rejectIfRedisNotReady: true,
  });
  let restsUntil = 0;

  return async (clientId) => {
    if (Date.now() < restsUntil) return {};
    const state = await limiter.consume(clientId).catch((refusal: unknown) => refusal);
    if (state instanceof RateLimiterRes) return accept(state, perMinute);
    restsUntil = Date.now() + REST;
    log.warn("rate_limit.skipped", { client: clientId, err: state });
    return {};
  };
}

function accept(state: RateLimiterRes, limit: number): Record<string, string> {
  const reset = String(Math.ceil(state.msBeforeNext / SECOND));
  const headers = {
    "RateLimit-Limit": String(limit),
    "RateLimit-Remaining": String(state.remainingPoints),
    "RateLimit-Reset": reset,
  };
  if (state.consumedPoints <= limit) return headers;
  throw new ApiError("rate_limited", `More than ${limit} requests in a minute`, {
    headers: { ...headers, "Retry-After": reset },
  });
}
