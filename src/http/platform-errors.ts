import type { PlatformFailure } from "../platforms/errors/failure.ts";
import { toPlatformErrorBody } from "../platforms/errors/platform-error.ts";
import { CODE_BY_VERDICT } from "../platforms/errors/verdict-codes.ts";
import type { TokenOwner } from "../platforms/errors/verdicts.ts";
import { ApiError, type ErrorCode, retryAfter } from "./api-error.ts";

const DEAD_TOKEN_CODE = {
  ad_account: "ad_account_revoked",
  channel: "channel_disconnected",
  none: "platform_invalid_request",
} as const satisfies Record<TokenOwner, ErrorCode>;

/** Every error code of a failed platform call, except those for a dead token. */
export const PLATFORM_REFUSALS: readonly ErrorCode[] = [...new Set(Object.values(CODE_BY_VERDICT))];

const codeOf = ({ verdict, owner }: PlatformFailure): ErrorCode =>
  verdict === "token_dead" ? DEAD_TOKEN_CODE[owner] : CODE_BY_VERDICT[verdict];

interface ErrorOptions {
  /** What the caller can do instead. */
  hint?: string;
  /** By default what the failure says. */
  retryable?: boolean;
}

/** The API error of a failed platform call. */
export function platformApiError(failure: PlatformFailure, options: ErrorOptions = {}): ApiError {
  const { platformError, wait } = failure;
  const { hint, retryable = failure.retryable } = options;
  const message = hint === undefined ? failure.message : `${failure.message.replace(/\.$/, "")}: ${hint}`;
  const extra = {
    retryable,
    ...(platformError ? { platform_error: toPlatformErrorBody(platformError) } : {}),
  };
  const headers = wait === undefined ? {} : retryAfter(wait);
  return new ApiError(codeOf(failure), message, { extra, headers, cause: failure });
}
