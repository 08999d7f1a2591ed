import { SECOND } from "../runtime/durations.ts";

/** Every error of the API. A code is part of the contract: it is never renamed or reused. */
export const ERRORS = {
  validation_failed: {
    status: 400,
    meaning: "The request is malformed; `details` lists each problem with its path",
  },
  unknown_dispatch_key: { status: 400, meaning: "The path names a key that does not exist" },
  terms_version_not_current: { status: 400, meaning: "The accepted version is not the version in force" },
  missing_permission: {
    status: 400,
    meaning: "The person did not grant all permissions; `missing` lists them",
  },
  invalid_image: { status: 400, meaning: "The image cannot be decoded" },
  unsupported_message_type: { status: 400, meaning: "The channel cannot send this type of message" },
  invalid_recipient: { status: 400, meaning: "`to` is not a recipient on this platform" },
  platform_invalid_request: {
    status: 400,
    meaning: "The platform rejected the parameters; `platform_error` has its error",
  },
  ambiguous_credentials: { status: 400, meaning: "The request carries both an API key and a user token" },
  unauthorized: { status: 401, meaning: "The credential is missing, wrong, expired or revoked" },
  insufficient_scope: { status: 403, meaning: "The credential lacks `required_scope`" },
  invalid_verify_token: { status: 403, meaning: "The webhook handshake has a wrong verify token" },
  terms_not_accepted: {
    status: 403,
    meaning: "The terms in force are not accepted; `current_version` names them",
  },
  console_only: { status: 403, meaning: "The endpoint takes user tokens, not API keys" },
  role_insufficient: { status: 403, meaning: "The user's role does not allow this" },
  platform_permission_denied: { status: 403, meaning: "The platform denies this to the connected account" },
  platform_policy_blocked: { status: 403, meaning: "The platform blocked the request for policy reasons" },
  not_found: { status: 404, meaning: "The object does not exist, or belongs to another client" },
  platform_object_not_found: { status: 404, meaning: "The platform does not know the object" },
  method_not_allowed: { status: 405, meaning: "The path exists, but not with this method" },
  idempotency_in_progress: {
    status: 409,
    meaning: "A request with the same Idempotency-Key is still running; retry it",
  },
  ad_account_not_active: { status: 409, meaning: "The ad account is not `active`" },
  ad_account_revoked: {
    status: 409,
    meaning: "The platform rejects the token of the ad account; it must be connected again",
  },
  invalid_state_transition: {
    status: 409,
    meaning: "The object cannot change from its present state to the requested one",
  },
  channel_disconnected: { status: 409, meaning: "The channel is not connected" },
  channel_taken: { status: 409, meaning: "Another client owns the number, page or photo account" },
  session_not_revocable: { status: 409, meaning: "The session cannot be revoked any more" },
  webhook_not_configured: { status: 409, meaning: "The client has no `webhook_url`" },
  session_gone: { status: 410, meaning: "The session has ended" },
  payload_too_large: { status: 413, meaning: "The body is larger than the limit of the endpoint" },
  image_too_large: { status: 413, meaning: "The image is larger than the platform allows" },
  unsupported_media_type: { status: 415, meaning: "The endpoint does not take this Content-Type" },
  idempotency_key_reused: { status: 422, meaning: "The Idempotency-Key was used for a different request" },
  rate_limited: {
    status: 429,
    meaning: "The client or the address has made too many requests; wait for `Retry-After` seconds",
  },
  platform_rate_limited: { status: 429, meaning: "The platform throttles; wait for `Retry-After` seconds" },
  internal_error: { status: 500, meaning: "A defect of the service; `request_id` finds it in the logs" },
  platform_unavailable: { status: 502, meaning: "The platform did not give a usable answer" },
  overloaded: { status: 503, meaning: "The process has too much to do; retry after `Retry-After` seconds" },
  temporarily_unavailable: {
    status: 503,
    meaning: "Postgres or the identity provider does not respond; retry after `Retry-After` seconds",
  },
  platform_timeout: {
    status: 504,
    meaning: "The platform did not answer in time; the call may have had an effect",
  },
} as const;

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

/** Default headers of an error response, by code. */
const ERROR_HEADERS: { readonly [C in ErrorCode]?: Readonly<Record<string, string>> } = {
  unauthorized: { "WWW-Authenticate": 'Bearer realm="herald"' },
  idempotency_in_progress: { "Retry-After": "1" },
  overloaded: { "Retry-After": "5" },
  temporarily_unavailable: { "Retry-After": "5" },
};

export interface ErrorDetail {
  path: string;
  message: string;
}

interface ApiErrorOptions {
  details?: ErrorDetail[];
  /** Further fields of the body, e.g. `required_scope`. */
  extra?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** An error response. Only http and resources create it; the pipeline turns it into a reply. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: ErrorDetail[] | undefined;
  readonly extra: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = "ApiError";
    this.code = code;
    this.status = ERRORS[code].status;
    this.details = options.details;
    this.extra = options.extra ?? {};
    this.headers = { ...ERROR_HEADERS[code], ...options.headers };
  }
}

/** 400 for invalid input. The first problem provides the message, and the code if it has one. */
export function invalidFields(problems: readonly (ErrorDetail & { code?: string })[]): ApiError {
  const { code = "validation_failed", message = "The request is invalid" } = problems[0] ?? {};
  const details = problems.map(({ path, message }) => ({ path, message }));
  return new ApiError(code as ErrorCode, message, { details });
}

/** 400 for a single invalid field. */
export const invalidField = (path: string, message: string): ApiError => invalidFields([{ path, message }]);

/** 404, also for an object of another client: its existence must not be revealed. */
export const notFound = (what: string): ApiError => new ApiError("not_found", `There is no such ${what}`);

export const overloaded = (): ApiError =>
  new ApiError("overloaded", "The service is overloaded, please try again");

/** 429 after too many failed attempts with a secret; `wait` is in milliseconds. */
export const tooManyAttempts = ({ maxFailures, wait }: { maxFailures: number; wait: number }): ApiError =>
  new ApiError(
    "rate_limited",
    `More than ${maxFailures} failed attempts in a minute, please try again later`,
    {
      headers: retryAfter(wait),
    },
  );

/** The Retry-After header for a wait in milliseconds: whole seconds, at least one. */
export const retryAfter = (wait: number): { "Retry-After": string } => ({
  "Retry-After": String(Math.max(1, Math.ceil(wait / SECOND))),
});
