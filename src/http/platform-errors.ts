import type { PlatformFailure } from "../platforms/errors/failure.ts";
import { FAILURE_CODES, failureCode } from "../platforms/errors/failure-code.ts";
import { toPlatformErrorBody } from "../platforms/errors/platform-error.ts";
import { ApiError, type ErrorCode, retryAfter } from "./api-error.ts";

/** Every answer to a call that a platform refuses or does not answer, but for that to a dead token. */
export const PLATFORM_REFUSALS: readonly ErrorCode[] = FAILURE_CODES;

/** The API's error for a platform call that failed. */
export const platformApiError = (failure: PlatformFailure): ApiError =>
  apiErrorOf(failure, { message: failure.message, retryable: failure.retryable });

/** The same to somebody who cannot ask again as they did; `hint` says what they can do. */
export const notRetryableApiError = (failure: PlatformFailure, hint: string): ApiError =>
  apiErrorOf(failure, { message: `${failure.message.replace(/\.$/, "")}: ${hint}`, retryable: false });

function apiErrorOf(
  failure: PlatformFailure,
  { message, retryable }: { message: string; retryable: boolean },
): ApiError {
  const { platformError, wait } = failure;
  const extra = {
    retryable,
    ...(platformError ? { platform_error: toPlatformErrorBody(platformError) } : {}),
  };
  const headers = wait === undefined ? {} : retryAfter(wait);
  return new ApiError(failureCode(failure), message, { extra, headers, cause: failure });
}
