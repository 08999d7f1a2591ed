import { HOUR, MINUTE } from "../runtime/durations.ts";
import { type AttemptRule, createAttemptLimiter, type LimitedAttempt } from "./attempt-limiter.ts";

/** One network and one email together: against guessing the password of one user. */
export const PAIR_RULE: AttemptRule = {
  name: "tries",
  maxFailures: 10,
  periodMs: 1 * MINUTE,
  inOrder: true,
};
/** One email from all networks: against guessing from many networks. */
export const EMAIL_RULE: AttemptRule = { name: "tries-email", maxFailures: 100, periodMs: 1 * HOUR };
/** One network with all emails: against trying stolen passwords of many users. */
export const NETWORK_RULE: AttemptRule = { name: "tries-network", maxFailures: 100, periodMs: 1 * MINUTE };

export interface SignInAttempt<T> {
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
export type SignInLimiter = <T>(attempt: SignInAttempt<T>) => Promise<LimitedAttempt<T>>;

export function createSignInLimiter(redis: unknown): SignInLimiter {
  const limitPair = createAttemptLimiter(redis, PAIR_RULE);
  const limitEmail = createAttemptLimiter(redis, EMAIL_RULE);
  const limitNetwork = createAttemptLimiter(redis, NETWORK_RULE);
  return async ({ network, email: given, isKnown, run }) => {
    const email = given.toLowerCase();
    const runNarrow = async () => made(await run());
    const runWide = () => nested(limitEmail([email], () => failing(limitNetwork([network], run))));
    return nested(
      limitPair([network, email], async () => failing((await isKnown()) ? runNarrow() : runWide())),
    );
  };
}

const made = <T>(result: T | undefined): LimitedAttempt<T> => ({ outcome: "made", result });

/** Undefined when the inner attempt failed, so that the outer rule counts it too. */
async function failing<T>(inner: Promise<LimitedAttempt<T>>): Promise<LimitedAttempt<T> | undefined> {
  const attempt = await inner;
  return attempt.outcome === "made" && attempt.result === undefined ? undefined : attempt;
}

/** The outcome of the inner rule, where the outer one let it run. */
async function nested<T>(outer: Promise<LimitedAttempt<LimitedAttempt<T>>>): Promise<LimitedAttempt<T>> {
  const attempt = await outer;
  return attempt.outcome === "limited" ? attempt : (attempt.result ?? made<T>(undefined));
}
