import type { PlatformFailure } from "../platforms/errors/failure.ts";
import { CODE_BY_VERDICT, type TokenOwner, toPlatformErrorBody } from "../platforms/errors/verdicts.ts";
import { MINUTE, SECOND } from "../runtime/durations.ts";
import { StacklessError } from "../runtime/errors.ts";

/** Every error of the API with its HTTP status. A code is part of the contract: it is never renamed or reused. */
export const ERROR_STATUS = {
  validation_failed: 400,
  unknown_dispatch_key: 400,
  terms_version_not_current: 400,
  missing_permission: 400,
  invalid_image: 400,
  unsupported_message_type: 400,
  invalid_recipient: 400,
  platform_invalid_request: 400,
  ambiguous_credentials: 400,
  unauthorized: 401,
  insufficient_scope: 403,
  invalid_verify_token: 403,
  terms_not_accepted: 403,
  console_only: 403,
  role_insufficient: 403,
  platform_permission_denied: 403,
  platform_policy_blocked: 403,
  not_found: 404,
  platform_object_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  idempotency_in_progress: 409,
  ad_account_not_active: 409,
  ad_account_revoked: 409,
  invalid_state_transition: 409,
  channel_disconnected: 409,
  channel_taken: 409,
  session_not_revocable: 409,
  webhook_not_configured: 409,
  session_gone: 410,
  payload_too_large: 413,
  image_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  idempotency_key_reused: 422,
  rate_limited: 429,
  platform_rate_limited: 429,
  internal_error: 500,
  platform_unavailable: 502,
  overloaded: 503,
  temporarily_unavailable: 503,
  platform_timeout: 504,
  outcome_unknown: 504,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export const ERROR_CODES = Object.keys(ERROR_STATUS) as ErrorCode[];

/** Errors of every route that needs the database: Postgres is unavailable, or its connections are in use. */
export const DATABASE_ERRORS = ["rate_limited", "overloaded", "temporarily_unavailable"] as const;

/** Default headers of an error response, by code. */
const ERROR_HEADERS: { readonly [C in ErrorCode]?: Readonly<Record<string, string>> } = {
  unauthorized: { "WWW-Authenticate": 'Bearer realm="herald"' },
  idempotency_in_progress: { "Retry-After": "1" },
  overloaded: { "Retry-After": "5" },
  temporarily_unavailable: { "Retry-After": "5" },
};

/** The section of docs/guides that helps with an error, by code: the guide's name and its heading. */
const ERROR_GUIDES: { readonly [C in ErrorCode]?: string } = {
  validation_failed: "paging-idempotency-limits#requests",
  unknown_dispatch_key: "receiving#switches",
  terms_version_not_current: "ad-accounts#accept-the-terms",
  missing_permission: "ad-accounts#connect",
  invalid_image: "advertising#upload-an-image-or-a-video",
  unsupported_message_type: "sending#types",
  invalid_recipient: "sending#fields",
  platform_invalid_request: "errors#refusals-of-a-platform",
  ambiguous_credentials: "credentials#one-credential-per-request",
  unauthorized: "credentials#one-credential-per-request",
  insufficient_scope: "credentials#scopes",
  terms_not_accepted: "ad-accounts#accept-the-terms",
  console_only: "credentials#users-and-roles",
  role_insufficient: "credentials#users-and-roles",
  platform_permission_denied: "errors#refusals-of-a-platform",
  platform_policy_blocked: "errors#refusals-of-a-platform",
  not_found: "errors#objects-that-do-not-exist",
  platform_object_not_found: "errors#objects-that-do-not-exist",
  method_not_allowed: "errors#codes",
  request_timeout: "paging-idempotency-limits#requests",
  idempotency_in_progress: "paging-idempotency-limits#idempotency",
  ad_account_not_active: "ad-accounts#choose-accounts",
  ad_account_revoked: "ad-accounts#connect",
  invalid_state_transition: "errors#conflicts-with-a-state",
  channel_disconnected: "channels#statuses",
  channel_taken: "channels#connect-a-channel",
  session_not_revocable: "embedded-signup#when-a-signup-fails",
  webhook_not_configured: "receiving#set-the-address",
  session_gone: "embedded-signup#when-a-signup-fails",
  payload_too_large: "paging-idempotency-limits#requests",
  image_too_large: "advertising#upload-an-image-or-a-video",
  unsupported_media_type: "paging-idempotency-limits#requests",
  expectation_failed: "errors#codes",
  idempotency_key_reused: "paging-idempotency-limits#idempotency",
  rate_limited: "paging-idempotency-limits#rate-limits",
  platform_rate_limited: "errors#which-requests-to-repeat",
  internal_error: "errors#which-requests-to-repeat",
  platform_unavailable: "errors#which-requests-to-repeat",
  overloaded: "errors#which-requests-to-repeat",
  temporarily_unavailable: "errors#which-requests-to-repeat",
  platform_timeout: "errors#which-requests-to-repeat",
  outcome_unknown: "errors#which-requests-to-repeat",
};

/** The path of the guide section for an error code, as this service serves it. */
export const documentationOf = (code: ErrorCode): string | undefined =>
  ERROR_GUIDES[code] && `/docs/guides/${ERROR_GUIDES[code]}`;

export interface ErrorDetail {
  path: string;
  message: string;
}

interface ApiErrorOptions {
  details?: ErrorDetail[];
  /** Further fields of the body, e.g. `required_scope`. */
  extra?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** HTML for a person, instead of the general error view. */
  view?: string;
  cause?: unknown;
}

/** An error response. Only http and resources create it; the pipeline turns it into a reply. */
export class ApiError extends StacklessError {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: ErrorDetail[] | undefined;
  readonly extra: Record<string, unknown>;
  readonly headers: Record<string, string>;
  readonly view: string | undefined;

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = "ApiError";
    this.code = code;
    this.status = ERROR_STATUS[code];
    this.details = options.details;
    this.extra = options.extra ?? {};
    this.headers = { ...ERROR_HEADERS[code], ...options.headers };
    this.view = options.view;
  }
}

/** Options of an error after which the rest of a body must not be read as the next request. */
export const CLOSE_CONNECTION: ApiErrorOptions = { headers: { Connection: "close" } };

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

/** Why the database cannot be used, and the sentence for it. */
const DATABASE_MESSAGES = {
  unavailable: "The service cannot reach its database, please try again",
  unmigrated: "The service's database is not migrated yet, please try again",
};

/** 503 while the database cannot be used. */
export const databaseUnusable = (
  reason: keyof typeof DATABASE_MESSAGES,
  options: Pick<ApiErrorOptions, "cause" | "extra">,
): ApiError => new ApiError("temporarily_unavailable", DATABASE_MESSAGES[reason], options);

/** 504 when Postgres may have carried out a request whose outcome was not reported in time. */
export const outcomeUnknown = (cause?: unknown): ApiError =>
  new ApiError("outcome_unknown", "The database did not answer in time: the request may have taken effect", {
    cause,
  });

interface LimitedAttempts {
  rule: { maxFailures: number; periodMs: number };
  /** Milliseconds until the next attempt is allowed. */
  wait: number;
}

/** 429 after too many failed attempts with a secret. */
export const tooManyAttempts = ({ rule, wait }: LimitedAttempts): ApiError => {
  const period = rule.periodMs > MINUTE ? "an hour" : "a minute";
  return new ApiError(
    "rate_limited",
    `More than ${rule.maxFailures} failed attempts in ${period}, please try again later`,
    { headers: retryAfter(wait) },
  );
};

export const idempotencyInProgress = () =>
  new ApiError("idempotency_in_progress", "A request with this Idempotency-Key is still in progress");

export const idempotencyKeyReused = () =>
  new ApiError("idempotency_key_reused", "This Idempotency-Key was already used with a different body");

/** The Retry-After header for a wait in milliseconds: whole seconds, at least one. */
export const retryAfter = (wait: number): { "Retry-After": string } => ({
  "Retry-After": String(Math.max(1, Math.ceil(wait / SECOND))),
});

export const channelNotFound = (): ApiError => notFound("channel");

/** 409 that says how to connect the channel again. */
export const channelNotConnected = (status: string): ApiError =>
  new ApiError(
    "channel_disconnected",
    status === "needs_reauth"
      ? "The platform no longer accepts the channel's token: reconnect the channel"
      : "The channel is disconnected: reconnect it",
  );

/** The result of openChatChannel. */
type ChatChannelOutcome<A> =
  | { outcome: "opened"; access: A }
  | { outcome: "not_found" }
  | { outcome: "wrong_platform"; platform: string }
  | { outcome: "not_connected"; status: string };

/** 404 for an unknown channel, 400 for a channel of another platform, 409 for one that is not connected. */
export function requireOpened<A>(opened: ChatChannelOutcome<A>): A {
  switch (opened.outcome) {
    case "opened":
      return opened.access;
    case "not_found":
      throw channelNotFound();
    case "wrong_platform":
      throw invalidField(
        "/channel_id",
        `channel_id must be a chatapp channel, not a ${opened.platform} channel`,
      );
    case "not_connected":
      throw channelNotConnected(opened.status);
  }
}

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
