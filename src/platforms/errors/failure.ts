import type { Outcome, PlatformCall, Refusal } from "../client/call.ts";
import type { PlatformError } from "./platform-error.ts";
import type { HoldWidth, TokenOwner, Verdict } from "./verdicts.ts";

type FailedOutcome = Exclude<Outcome, { outcome: "done" }>;

interface FailureFacts {
  /** Absent: as the verdict has it. */
  retryable?: boolean;
  owner?: TokenOwner;
  /** Milliseconds to stay away, when throttled or held. */
  wait?: number;
  platformError?: PlatformError | undefined;
  holds?: HoldWidth | undefined;
}

/** Verdicts after which the same call may succeed later. */
const RETRYABLE_VERDICTS: readonly Verdict[] = [
  "throttled",
  "held",
  "transient",
  "unreachable",
  "disconnected",
  "unusable_answer",
];

/** A call to a platform that did not succeed. Callers switch on `verdict`; the HTTP edge makes the API's error of it. */
export class PlatformFailure extends Error {
  readonly verdict: Verdict;
  readonly retryable: boolean;
  /** Whose token the call carried. */
  readonly owner: TokenOwner;
  /** Milliseconds to stay away, when throttled or held. */
  readonly wait: number | undefined;
  /** Absent where the platform gave no error with a code. */
  readonly platformError: PlatformError | undefined;
  /** What is to be left alone for a while, where the platform has said so just now. */
  readonly holds: HoldWidth | undefined;

  constructor(verdict: Verdict, message: string, facts: FailureFacts = {}) {
    super(message);
    this.name = "PlatformFailure";
    this.verdict = verdict;
    this.retryable = facts.retryable ?? RETRYABLE_VERDICTS.includes(verdict);
    this.owner = facts.owner ?? "none";
    this.wait = facts.wait;
    this.platformError = facts.platformError;
    this.holds = facts.holds;
  }
}

/** Whether the platform has called the token dead that a call was made with. */
export const isTokenDead = (error: unknown): boolean =>
  error instanceof PlatformFailure && error.verdict === "token_dead";

/** Runs a platform call; where it fails because the token is dead, `onDeadToken` runs before the error is thrown on. */
export async function withDeadTokenCheck<T>(
  call: () => Promise<T>,
  onDeadToken: () => Promise<unknown>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (isTokenDead(error)) await onDeadToken();
    throw error;
  }
}

/** Whether it has said that what was asked for is not for that token, if it exists. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof PlatformFailure && (error.verdict === "permission" || error.verdict === "missing");

/** The failure for an outcome that is not success. */
export function toFailure(
  outcome: FailedOutcome,
  { effect, owner = "none" }: Pick<PlatformCall, "effect" | "owner">,
): PlatformFailure {
  if (effect === "create" && mayHaveHappened(outcome))
    return ambiguousFailure(
      "The platform did not say whether it was created",
      outcome.outcome === "refused" ? outcome.error : undefined,
    );
  switch (outcome.outcome) {
    case "held":
      return new PlatformFailure("held", "The platform has asked for a pause", { wait: outcome.wait });
    case "refused":
      return failureOfRefusal(outcome, owner);
    case "timeout":
      if (!outcome.sent && effect !== "read") return unreachable();
      return new PlatformFailure("timeout", "The platform gave no answer in time", {
        retryable: effect === "read",
      });
    case "broken":
      if (!outcome.sent) return unreachable();
      return new PlatformFailure("disconnected", "The platform broke the connection off");
    case "unreadable":
      return unusableAnswer("The platform's answer cannot be read");
  }
}

const mayHaveHappened = (outcome: FailedOutcome): boolean =>
  outcome.outcome === "unreadable" ||
  (outcome.outcome === "refused" && outcome.verdict === "transient") ||
  ((outcome.outcome === "timeout" || outcome.outcome === "broken") && outcome.sent);

/** Something was to be created, and nobody knows whether it was. */
export const ambiguousFailure = (what: string, platformError?: PlatformError): PlatformFailure =>
  new PlatformFailure("ambiguous", `${what}: it may exist, look before you try again`, { platformError });

/** The platform's answer cannot be read, or does not say what it must. */
export const unusableAnswer = (message: string): PlatformFailure =>
  new PlatformFailure("unusable_answer", message);

const unreachable = () => new PlatformFailure("unreachable", "The platform cannot be reached");

function failureOfRefusal(refused: Refusal, owner: TokenOwner): PlatformFailure {
  const { verdict, error, wait, status, holds } = refused;
  const message = error?.userMessage ?? error?.message ?? `The platform refused with status ${status}`;
  return new PlatformFailure(verdict, message, {
    owner,
    platformError: error,
    holds,
    ...(verdict === "throttled" ? { wait } : {}),
  });
}
