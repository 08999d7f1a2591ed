import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { createBatcher } from "../runtime/async/batcher.ts";
import { MINUTE, SECOND } from "../runtime/durations.ts";
import type { Log } from "../runtime/log.ts";
import { ApiError } from "./api-error.ts";

/**
 * Counts one request of a client and returns its RateLimit headers. Over the limit it throws a 429 with them.
 */
export type RateLimit = (clientId: string) => Promise<Record<string, string>>;

export const RATE_LIMIT_HEADERS = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const;

interface RateLimitOptions {
  perMinute: number;
  /** An ioredis client that fails fast when Redis is unreachable. */
  redis: unknown;
  log: Log;
}

/** After a Redis failure requests pass uncounted for this long: each would only wait for the same failure. */
const SKIP_AFTER_FAILURE_MS = 1 * SECOND;

export function createRateLimit({ perMinute, redis, log }: RateLimitOptions): RateLimit {
  if (perMinute === 0) return async () => ({});
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: "rate",
    points: perMinute,
    duration: MINUTE / SECOND,
    rejectIfRedisNotReady: true,
  });
  let skipUntil = 0;

  const consumePoints = async (clientId: string, requests: number): Promise<RateLimiterRes | undefined> => {
    const state = await limiter.consume(clientId, requests).catch((refusal: unknown) => refusal);
    if (state instanceof RateLimiterRes) return state;
    skipUntil = Date.now() + SKIP_AFTER_FAILURE_MS;
    log.warn("rate_limit.skipped", { client: clientId, err: state });
    return undefined;
  };

  /** Requests of one event-loop turn are counted with one command per client. */
  const counts = createBatcher<CountedRequest, Count | undefined>({
    maxItems: MAX_BATCH_REQUESTS,
    async run(requests) {
      const requestsByClient = numberRequests(requests);
      const states = new Map<string, RateLimiterRes | undefined>();
      if (Date.now() >= skipUntil)
        await Promise.all(
          [...requestsByClient].map(async ([id, size]) => states.set(id, await consumePoints(id, size))),
        );
      return ({ clientId, position }) => {
        const state = states.get(clientId);
        const before = (state?.consumedPoints ?? 0) - (requestsByClient.get(clientId) as number);
        return state && { state, used: before + position };
      };
    },
  });

  return async (clientId) => {
    const counted = Date.now() < skipUntil ? undefined : await counts.add({ clientId, position: 0 });
    return counted ? checkLimit(counted.state, { limit: perMinute, used: counted.used }) : {};
  };
}

interface CountedRequest {
  clientId: string;
  /** Position among the client's requests in the same batch, from 1. */
  position: number;
}

interface Count {
  state: RateLimiterRes;
  used: number;
}

const MAX_BATCH_REQUESTS = 1_000;

/** Numbers the requests of each client; returns how many each client has. */
function numberRequests(requests: readonly CountedRequest[]): Map<string, number> {
  const requestsByClient = new Map<string, number>();
  for (const request of requests) {
    request.position = (requestsByClient.get(request.clientId) ?? 0) + 1;
    requestsByClient.set(request.clientId, request.position);
  }
  return requestsByClient;
}

function checkLimit(
  { msBeforeNext }: RateLimiterRes,
  { limit, used }: { limit: number; used: number },
): Record<string, string> {
  const reset = String(Math.ceil(msBeforeNext / SECOND));
  const headers = {
    "RateLimit-Limit": String(limit),
    "RateLimit-Remaining": String(Math.max(0, limit - used)),
    "RateLimit-Reset": reset,
  };
  if (used <= limit) return headers;
  throw new ApiError("rate_limited", `More than ${limit} requests in a minute`, {
    headers: { ...headers, "Retry-After": reset },
  });
}
