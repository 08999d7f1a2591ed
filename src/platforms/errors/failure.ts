import type { PauseWidth, PlatformError, TokenOwner, Verdict } from "./verdicts.ts";

interface FailureFacts {
  /** Defaults to the verdict's entry in RETRYABLE_VERDICTS. */
  retryable?: boolean;
  owner?: TokenOwner;
  /** Milliseconds to stay away, when throttled or paused, or without a socket. */
  wait?: number;
  platformError?: PlatformError | undefined;
  pauses?: PauseWidth | undefined;
}

/** Verdicts after which the same call may succeed later. */
const RETRYABLE_VERDICTS: readonly Verdict[] = [
  "throttled",
  "paused",
  "no_socket",
  "transient",
  "unreachable",
  "disconnected",
  "unusable_answer",
];

/** A failed platform call. Callers switch on `verdict`; the HTTP layer turns it into an API error. */
export class PlatformFailure extends Error {
  readonly verdict: Verdict;
  readonly retryable: boolean;
  /** The owner of the token the call used. */
  readonly owner: TokenOwner;
  /** Milliseconds to stay away, when throttled or paused, or without a socket. */
  readonly wait: number | undefined;
  /** Undefined when the platform returned no error with a code. */
  readonly platformError: PlatformError | undefined;
  /** The scope the platform has just throttled; when paused, `app` if the app's limit pauses the call. */
  readonly pauses: PauseWidth | undefined;

  constructor(verdict: Verdict, message: string, facts: FailureFacts = {}) {
    super(message);
    this.name = "PlatformFailure";
    this.verdict = verdict;
    this.retryable = facts.retryable ?? RETRYABLE_VERDICTS.includes(verdict);
    this.owner = facts.owner ?? "none";
    this.wait = facts.wait;
    this.platformError = facts.platformError;
    this.pauses = facts.pauses;
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

/** The object may or may not have been created. */
export const ambiguousFailure = (what: string, platformError?: PlatformError): PlatformFailure =>
  new PlatformFailure("ambiguous", `${what}: it may exist, check before you try again`, { platformError });

export const unconfirmedCreate = (platformError?: PlatformError): PlatformFailure =>
  ambiguousFailure("The platform did not confirm the creation", platformError);

/** The response cannot be read or lacks required data. */
export const unusableAnswer = (message: string): PlatformFailure =>
  new PlatformFailure("unusable_answer", message);
