import { SECOND } from "../../runtime/durations.ts";
import { ApiError, type ErrorCode } from "../../runtime/errors.ts";
import type { Outcome, PlatformCall, Refusal } from "../client/call.ts";
import { toPlatformErrorBody } from "./platform-error.ts";
import type { HoldWidth, TokenOwner, Verdict } from "./verdicts.ts";

type FailedOutcome = Exclude<Outcome, { outcome: "done" }>;

interface FailureOptions {
  retryable: boolean;
  refused?: Refusal;
  headers?: Record<string, string>;
  ambiguous?: boolean;
}

/** A call to a platform that did not succeed, as the API answers it. Whoever keeps tokens looks at `verdict`. */
export class PlatformFailure extends ApiError {
  readonly retryable: boolean;
  /** Undefined when there was no answer that one could read. */
  readonly verdict: Verdict | undefined;
  /** What is to be left alone for a while, where the platform has said so just now. */
  readonly holds: HoldWidth | undefined;
  /** Whether what was to be created may exist all the same. */
  readonly ambiguous: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    { retryable, refused, headers, ambiguous = false }: FailureOptions,
  ) {
    const error = refused?.error;
    const extra = { retryable, ...(error ? { platform_error: toPlatformErrorBody(error) } : {}) };
    super(code, message, { extra, ...(headers ? { headers } : {}) });
    this.name = "PlatformFailure";
    this.retryable = retryable;
    this.verdict = refused?.verdict;
    this.holds = refused?.holds;
    this.ambiguous = ambiguous;
  }

  /** The same to somebody who cannot ask again as they did, and what they can do. */
  asNotRetryable(hint: string): ApiError {
    const { extra, headers } = this;
    const final = { extra: { ...extra, retryable: false }, headers, cause: this };
    return new ApiError(this.code, `${this.message.replace(/\.$/, "")}: ${hint}`, final);
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

const CODE_BY_VERDICT: Record<Exclude<Verdict, "token_dead">, ErrorCode> = {
  permission: "platform_permission_denied",
  policy: "platform_policy_blocked",
  throttled: "platform_rate_limited",
  missing: "platform_object_not_found",
  transient: "platform_unavailable",
  invalid: "platform_invalid_request",
};

/** Every answer to a call that a platform refuses or does not answer, but for that to a dead token. */
export const PLATFORM_REFUSALS = [
  ...Object.values(CODE_BY_VERDICT),
  "platform_timeout",
] as const satisfies readonly ErrorCode[];

const DEAD_TOKEN_CODE: Record<TokenOwner, ErrorCode> = {
  ad_account: "ad_account_revoked",
  channel: "channel_disconnected",
  none: "platform_invalid_request",
};

/** The API's error for an outcome that is not success. */
export function toFailure(
  outcome: FailedOutcome,
  { effect, owner = "none" }: Pick<PlatformCall, "effect" | "owner">,
): PlatformFailure {
  if (effect === "create" && mayHaveHappened(outcome)) {
    const refused = outcome.outcome === "refused" ? { refused: outcome } : {};
    return ambiguousFailure("The platform did not say whether it was created", refused);
  }
  switch (outcome.outcome) {
    case "held":
      return throttled("The platform has asked for a pause", outcome.wait);
    case "refused":
      return failureOfRefusal(outcome, owner);
    case "timeout":
      if (outcome.sent || effect === "read")
        return new PlatformFailure("platform_timeout", "The platform gave no answer in time", {
          retryable: effect === "read",
        });
      return unavailable("The platform cannot be reached");
    case "broken":
      return unavailable(
        outcome.sent ? "The platform broke the connection off" : "The platform cannot be reached",
      );
    case "unreadable":
      return unavailable("The platform's answer cannot be read");
  }
}

const mayHaveHappened = (outcome: FailedOutcome): boolean =>
  outcome.outcome === "unreadable" ||
  (outcome.outcome === "refused" && outcome.verdict === "transient") ||
  ((outcome.outcome === "timeout" || outcome.outcome === "broken") && outcome.sent);

/** Something was to be created, and nobody knows whether it was. */
export const ambiguousFailure = (
  what: string,
  refused: Pick<FailureOptions, "refused"> = {},
): PlatformFailure =>
  new PlatformFailure("platform_timeout", `${what}: it may exist, look before you try again`, {
    retryable: false,
    ambiguous: true,
    ...refused,
  });

/** There is no answer, or none that says what it must. */
export const unavailable = (message: string): PlatformFailure =>
  new PlatformFailure("platform_unavailable", message, { retryable: true });

function failureOfRefusal(refused: Refusal, owner: TokenOwner): PlatformFailure {
  const { verdict, error, wait, status } = refused;
  const message = error?.userMessage ?? error?.message ?? `The platform refused with status ${status}`;
  if (verdict === "throttled") return throttled(message, wait, refused);
  const code = verdict === "token_dead" ? DEAD_TOKEN_CODE[owner] : CODE_BY_VERDICT[verdict];
  return new PlatformFailure(code, message, { retryable: verdict === "transient", refused });
}

function throttled(message: string, wait: number, refused?: Refusal): PlatformFailure {
  const headers = { "Retry-After": String(Math.max(1, Math.ceil(wait / SECOND))) };
  return new PlatformFailure("platform_rate_limited", message, {
    retryable: true,
    headers,
    ...(refused ? { refused } : {}),
  });
}
