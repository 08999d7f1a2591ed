import { createHash } from "node:crypto";
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { HOUR, MINUTE, SECOND } from "../runtime/durations.ts";

/** One network and one email together: against guessing the password of one user. */
export const PAIR_RULE: SignInRule = {
  name: "tries",
  maxFailures: 10,
  periodMs: 1 * MINUTE,
  inOrder: true,
};
/** One email from all networks: against guessing from many networks. */
const EMAIL_RULE: SignInRule = { name: "tries-email", maxFailures: 100, periodMs: 1 * HOUR };
/** One network with all emails: against trying stolen passwords of many users. */
const NETWORK_RULE: SignInRule = { name: "tries-network", maxFailures: 100, periodMs: 1 * MINUTE };

export interface SignIn<T> {
  network: string;
  email: string;
  /** True when this email has signed in from this network before; asked once the first rule is met. */
  isKnown(): Promise<boolean>;
  /** Returns undefined for a wrong password. */
  run(): Promise<T | undefined>;
}

/**
 * Limits attempts with a password. Only the first rule applies to a network from which the email has signed in before:
 * failures of others must not lock its user out.
 */
export type SignInLimiter = <T>(attempt: SignIn<T>) => Promise<LimitedSignIn<T>>;

export function createSignInLimiter(redis: unknown): SignInLimiter {
  const limitPair = createSignInRuleLimiter(redis, PAIR_RULE);
  const limitEmail = createSignInRuleLimiter(redis, EMAIL_RULE);
  const limitNetwork = createSignInRuleLimiter(redis, NETWORK_RULE);
  return async ({ network, email: given, isKnown, run }) => {
    const email = given.toLowerCase();
    const runNarrow = async () => made(await run());
    const runWide = () => nested(limitEmail([email], () => failing(limitNetwork([network], run))));
    return nested(
      limitPair([network, email], async () => failing((await isKnown()) ? runNarrow() : runWide())),
    );
  };
}

const made = <T>(result: T | undefined): LimitedSignIn<T> => ({ outcome: "made", result });

/** Undefined when the inner attempt failed, so that the outer rule counts it too. */
async function failing<T>(inner: Promise<LimitedSignIn<T>>): Promise<LimitedSignIn<T> | undefined> {
  const attempt = await inner;
  return attempt.outcome === "made" && attempt.result === undefined ? undefined : attempt;
}

/** The outcome of the inner rule, where the outer one let it run. */
async function nested<T>(outer: Promise<LimitedSignIn<LimitedSignIn<T>>>): Promise<LimitedSignIn<T>> {
  const attempt = await outer;
  return attempt.outcome === "limited" ? attempt : (attempt.result ?? made<T>(undefined));
}

/** How many attempts may fail in a period. */
export interface SignInRule {
  /** Separates the counters of the rules in Redis. */
  name: string;
  maxFailures: number;
  periodMs: number;
  /** Attempts of one identity run one after another: a running one may succeed and must not count against the next. */
  inOrder?: boolean;
}

/** `limited`: not attempted, because too many failed within the rule's period; allowed again after `wait` milliseconds. */
type LimitedSignIn<T> =
  | { outcome: "made"; result: T | undefined }
  | { outcome: "limited"; rule: SignInRule; wait: number };

/**
 * Limits attempts to present a secret. An attempt that returns undefined counts as failed; over the limit, the next one
 * is rejected without running. Attempts are counted before they run, so that concurrent ones cannot bypass the limit.
 */
export type SignInRuleLimiter = <T>(
  identity: readonly string[],
  attempt: () => Promise<T | undefined>,
) => Promise<LimitedSignIn<T>>;

/**
 * Counts in Redis across all processes, or in this process while Redis is unavailable. `redis` is an ioredis client
 * that fails fast.
 */
export function createSignInRuleLimiter(redis: unknown, rule: SignInRule): SignInRuleLimiter {
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
