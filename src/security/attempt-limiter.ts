import { createHash } from "node:crypto";
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { SECOND } from "../runtime/durations.ts";

/** How many attempts may fail in a period. */
export interface AttemptRule {
  /** Separates the counters of the rules in Redis. */
  name: string;
  maxFailures: number;
  periodMs: number;
  /** Attempts of one identity run one after another: a running one may succeed and must not count against the next. */
  inOrder?: boolean;
}

/** `limited`: not attempted, because too many failed within the rule's period; allowed again after `wait` milliseconds. */
export type LimitedAttempt<T> =
  | { outcome: "made"; result: T | undefined }
  | { outcome: "limited"; rule: AttemptRule; wait: number };

/**
 * Limits attempts to present a secret. An attempt that returns undefined counts as failed; over the limit, the next one
 * is rejected without running. Attempts are counted before they run, so that concurrent ones cannot bypass the limit.
 */
export type AttemptLimiter = <T>(
  identity: readonly string[],
  attempt: () => Promise<T | undefined>,
) => Promise<LimitedAttempt<T>>;

/**
 * Counts in Redis across all processes, or in this process while Redis is unavailable. `redis` is an ioredis client
 * that fails fast.
 */
export function createAttemptLimiter(redis: unknown, rule: AttemptRule): AttemptLimiter {
  const counting = { keyPrefix: rule.name, points: rule.maxFailures, duration: rule.periodMs / SECOND };
  const limiter = new RateLimiterRedis({
    ...counting,
    storeClient: redis,
    rejectIfRedisNotReady: true,
    insuranceLimiter: new RateLimiterMemory(counting),
  });
  const run = rule.inOrder ? createKeyedQueue() : runAtOnce;
  return (identity, attempt) => {
    const key = createHash("sha256").update(JSON.stringify(identity)).digest("base64url");
    return run(key, async () => {
      const wait = await limiter.consume(key).then(() => undefined, waitOf);
      if (wait !== undefined) return { outcome: "limited", rule, wait };
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

type RunKeyed = <T>(key: string, work: () => Promise<T>) => Promise<T>;

const runAtOnce: RunKeyed = (_, work) => work();

/** Runs the work of each key in sequence. */
function createKeyedQueue(): RunKeyed {
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
