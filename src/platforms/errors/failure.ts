import { SECOND } from "../../runtime/durations.ts";
import type { Outcome, PlatformCall, Refusal } from "../client/call.ts";
import type { PlatformError } from "./platform-error.ts";
import type { HoldWidth, TokenOwner, Verdict } from "./verdicts.ts";

type FailedOutcome = Exclude<Outcome, { outcome: "done" }>;

interface FailureFacts {
  /** Defaults to the verdict's entry in RETRYABLE_VERDICTS. */
  retryable?: boolean;
  owner?: TokenOwner;
  /** Milliseconds to stay away, when throttled or held, or without a socket. */
  wait?: number;
  platformError?: PlatformError | undefined;
  holds?: HoldWidth | undefined;
}

/** Verdicts after which the same call may succeed later. */
const RETRYABLE_VERDICTS: readonly Verdict[] = [
  "throttled",
  "held",
  "no_socket",
  "transient",
  "unreachable",
  "disconnected",
  "unusable_answer",
];

/** The calls in progress have ended by then or soon after. */
const NO_SOCKET_WAIT_MS = 5 * SECOND;

/** A failed platform call. Callers switch on `verdict`; the HTTP layer turns it into an API error. */
export class PlatformFailure extends Error {
  readonly verdict: Verdict;
  readonly retryable: boolean;
  /** The owner of the token the call used. */
  readonly owner: TokenOwner;
  /** Milliseconds to stay away, when throttled or held, or without a socket. */
  readonly wait: number | undefined;
  /** Undefined when the platform returned no error with a code. */
  readonly platformError: PlatformError | undefined;
  /** The scope the platform has just throttled; when held, `app` if the app's limit holds the call. */
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

/** True when the platform reported the call's token as dead. */
export const isTokenDead = (error: unknown): error is PlatformFailure & { verdict: "token_dead" } =>
  error instanceof PlatformFailure && error.verdict === "token_dead";

/** Runs a platform call; when the token is dead, runs `onDeadToken` before rethrowing. */
export async function withDeadTokenCheck<T>(
  call: () => Promise<T>,
  onDeadToken: (failure: PlatformFailure) => Promise<unknown>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (isTokenDead(error)) await onDeadToken(error);
    throw error;
  }
}

/** True when the token has no access to the object, or the object does not exist. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof PlatformFailure && (error.verdict === "permission" || error.verdict === "missing");

/** True when the platform rejected the content of the request. */
export const isInvalid = (error: unknown): boolean =>
  error instanceof PlatformFailure && error.verdict === "invalid";

/** True when the object may or may not have been created. */
export const isAmbiguous = (error: unknown): boolean =>
  error instanceof PlatformFailure && error.verdict === "ambiguous";

/** Converts an unsuccessful outcome to a failure. */
export function toFailure(
  outcome: FailedOutcome,
  { effect, owner = "none" }: Pick<PlatformCall, "effect" | "owner">,
): PlatformFailure {
  if (effect === "create" && mayHaveHappened(outcome))
    return unconfirmedCreate(outcome.outcome === "refused" ? outcome.error : undefined);
  switch (outcome.outcome) {
    case "held":
      return new PlatformFailure(
        "held",
        "Calls are on hold because the platform's limit was reached; try again later",
        { wait: outcome.wait, holds: outcome.holds },
      );
    case "no_socket":
      return new PlatformFailure(
        "no_socket",
        "Too many of your calls to this platform are in progress; nothing was sent",
        { wait: NO_SOCKET_WAIT_MS },
      );
    case "refused":
      return failureOfRefusal(outcome, owner);
    case "timeout":
      if (!outcome.sent && effect !== "read") return unreachable();
      return new PlatformFailure("timeout", "The platform did not respond in time", {
        retryable: effect === "read",
      });
    case "broken":
      if (!outcome.sent) return unreachable();
      return new PlatformFailure("disconnected", "The platform closed the connection before responding");
    case "unreadable":
      return unusableAnswer("The platform's response cannot be read");
  }
}

const mayHaveHappened = (outcome: FailedOutcome): boolean =>
  outcome.outcome === "unreadable" ||
  (outcome.outcome === "refused" && outcome.verdict === "transient") ||
  ((outcome.outcome === "timeout" || outcome.outcome === "broken") && outcome.sent);

/** The object may or may not have been created. */
export const ambiguousFailure = (what: string, platformError?: PlatformError): PlatformFailure =>
  new PlatformFailure("ambiguous", `${what}: it may exist, check before you try again`, { platformError });

export const unconfirmedCreate = (platformError?: PlatformError): PlatformFailure =>
  ambiguousFailure("The platform did not confirm the creation", platformError);

/** The response cannot be read or lacks required data. */
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
