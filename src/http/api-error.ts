import type { PlatformFailure } from "../platforms/errors/failure.ts";
import { CODE_BY_VERDICT, type TokenOwner, toPlatformErrorBody } from "../platforms/errors/verdicts.ts";
import { MINUTE, SECOND } from "../runtime/durations.ts";
import { StacklessError } from "../runtime/errors.ts";

interface ErrorDefinition {
  status: number;
  /** The section of docs/guides that helps with the error: the guide's name and its heading. */
  guide?: string;
  /** Default headers of the response. */
  headers?: Readonly<Record<string, string>>;
  /** The sentence of a code that has only one. */
  message?: string;
}

/** Every error of the API. A code is part of the contract: it is never renamed or reused. */
const ERRORS = {
  validation_failed: { status: 400, guide: "paging-idempotency-limits#requests" },
  unknown_dispatch_key: { status: 400, guide: "receiving#switches" },
  terms_version_not_current: { status: 400, guide: "ad-accounts#accept-the-terms" },
  missing_permission: { status: 400, guide: "ad-accounts#connect" },
  invalid_image: { status: 400, guide: "advertising#upload-an-image-or-a-video" },
  unsupported_message_type: { status: 400, guide: "sending#types" },
  invalid_recipient: { status: 400, guide: "sending#fields" },
  platform_invalid_request: { status: 400, guide: "errors#refusals-of-a-platform" },
  ambiguous_credentials: {
    status: 400,
    guide: "credentials#one-credential-per-request",
    message: "Send one credential only: either a user token or an API key",
  },
  unauthorized: {
    status: 401,
    guide: "credentials#one-credential-per-request",
    headers: { "WWW-Authenticate": 'Bearer realm="herald"' },
  },
  insufficient_scope: { status: 403, guide: "credentials#scopes" },
  test_key_required: {
    status: 403,
    guide: "testing#send-an-event-of-any-type",
    message: "Events with a type are for tests: send a svc_test_ API key or a user token",
  },
  invalid_verify_token: {
    status: 403,
    message: "hub.mode must be subscribe and hub.verify_token the configured verify token",
  },
  terms_not_accepted: { status: 403, guide: "ad-accounts#accept-the-terms" },
  console_only: {
    status: 403,
    guide: "credentials#users-and-roles",
    message: "API keys cannot make this request: sign in to the console or send a user token",
  },
  role_insufficient: { status: 403, guide: "credentials#users-and-roles" },
  platform_permission_denied: { status: 403, guide: "errors#refusals-of-a-platform" },
  platform_policy_blocked: { status: 403, guide: "errors#refusals-of-a-platform" },
  not_found: { status: 404, guide: "errors#objects-that-do-not-exist" },
  platform_object_not_found: { status: 404, guide: "errors#objects-that-do-not-exist" },
  method_not_allowed: { status: 405, guide: "errors#codes" },
  request_timeout: { status: 408, guide: "paging-idempotency-limits#requests" },
  idempotency_in_progress: {
    status: 409,
    guide: "paging-idempotency-limits#idempotency",
    headers: { "Retry-After": "1" },
    message: "A request with this Idempotency-Key is still in progress",
  },
  ad_account_not_active: { status: 409, guide: "ad-accounts#choose-accounts" },
  ad_account_revoked: { status: 409, guide: "ad-accounts#connect" },
  invalid_state_transition: { status: 409, guide: "errors#conflicts-with-a-state" },
  channel_disconnected: { status: 409, guide: "channels#statuses" },
  channel_taken: { status: 409, guide: "channels#connect-a-channel" },
  session_not_revocable: { status: 409, guide: "embedded-signup#when-a-signup-fails" },
  webhook_not_configured: {
    status: 409,
    guide: "receiving#set-the-address",
    message: "Set webhook_url before sending a test event",
  },
  session_gone: { status: 410, guide: "embedded-signup#when-a-signup-fails" },
  payload_too_large: { status: 413, guide: "paging-idempotency-limits#requests" },
  image_too_large: { status: 413, guide: "advertising#upload-an-image-or-a-video" },
  unsupported_media_type: { status: 415, guide: "paging-idempotency-limits#requests" },
  expectation_failed: {
    status: 417,
    guide: "errors#codes",
    message: "The only supported expectation is 100-continue",
  },
  idempotency_key_reused: {
    status: 422,
    guide: "paging-idempotency-limits#idempotency",
    message: "This Idempotency-Key was already used with a different body",
  },
  rate_limited: { status: 429, guide: "paging-idempotency-limits#rate-limits" },
  platform_rate_limited: { status: 429, guide: "errors#which-requests-to-repeat" },
  internal_error: {
    status: 500,
    guide: "errors#which-requests-to-repeat",
    message: "An internal error occurred",
  },
  platform_unavailable: { status: 502, guide: "errors#which-requests-to-repeat" },
  overloaded: { status: 503, guide: "errors#which-requests-to-repeat", headers: { "Retry-After": "5" } },
  temporarily_unavailable: {
    status: 503,
    guide: "errors#which-requests-to-repeat",
    headers: { "Retry-After": "5" },
  },
  platform_timeout: { status: 504, guide: "errors#which-requests-to-repeat" },
  outcome_unknown: {
    status: 504,
    guide: "errors#which-requests-to-repeat",
    message: "The database did not answer in time: the request may have taken effect",
  },
} as const satisfies Record<string, ErrorDefinition>;

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

const definitionOf = (code: ErrorCode): ErrorDefinition => ERRORS[code];

export const statusOf = (code: ErrorCode): number => ERRORS[code].status;

/** Errors of every route that needs the database: Postgres is unavailable, or its connections are in use. */
export const DATABASE_ERRORS = ["rate_limited", "overloaded", "temporarily_unavailable"] as const;

/** The path of the guide section for an error code, as this service serves it. */
export function documentationOf(code: ErrorCode): string | undefined {
  const { guide } = definitionOf(code);
  return guide && `/docs/guides/${guide}`;
}

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
    this.status = statusOf(code);
    this.details = options.details;
    this.extra = options.extra ?? {};
    this.headers = { ...definitionOf(code).headers, ...options.headers };
    this.view = options.view;
  }
}

type CodeWithMessage = {
  [C in ErrorCode]: (typeof ERRORS)[C] extends { message: string } ? C : never;
}[ErrorCode];

/** The error of a code that has one sentence. */
export const errorOf = (code: CodeWithMessage, options?: ApiErrorOptions): ApiError =>
  new ApiError(code, ERRORS[code].message, options);

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

interface SignInLimit {
  rule: { maxFailures: number; periodMs: number };
  /** Milliseconds until the next attempt is allowed. */
  wait: number;
}

/** 429 after too many failed attempts with a secret. */
export const tooManySignIns = ({ rule, wait }: SignInLimit): ApiError => {
  const period = rule.periodMs > MINUTE ? "an hour" : "a minute";
  return new ApiError(
    "rate_limited",
    `More than ${rule.maxFailures} failed attempts in ${period}, please try again later`,
    { headers: retryAfter(wait) },
  );
};

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
