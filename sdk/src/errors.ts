import type { ErrorBody, InsightsReportRunDto, MessageDto, PlatformError } from "./generated/types.ts";

/** A code of the API's catalogue. */
export type ApiErrorCode = ErrorBody["error"];

/** Codes that the SDK adds to those of the API. */
export type SdkErrorCode =
  | "connection_failed"
  | "timeout"
  | "unexpected_response"
  | "message_failed"
  | "report_failed";

export type ErrorCode = ApiErrorCode | SdkErrorCode;

export interface ErrorFields {
  code: ErrorCode;
  message: string;
  operation?: string | undefined;
  status?: number | undefined;
  requestId?: string | undefined;
  retryable?: boolean | undefined;
  retryAfterMs?: number | undefined;
  idempotencyKey?: string | undefined;
  body?: ErrorBody | undefined;
  cause?: unknown;
}

/** Every error of the SDK. It never contains the credential. */
export class HeraldError extends Error {
  /** A stable code to program against. */
  declare readonly code: ErrorCode;
  /** Whether the same request may be repeated safely: with `idempotencyKey`, if there is one. */
  declare readonly retryable: boolean;
  /** Each invalid field or parameter, with a JSON pointer. */
  declare readonly details: readonly { path: string; message: string }[];
  /** The operation of the API, such as `sendMessage`. */
  declare readonly operation?: string;
  /** The status of the answer; absent when none came. */
  declare readonly status?: number;
  /** The id of the request in Herald's log: quote it when you ask for help. */
  declare readonly requestId?: string;
  /** How long the API asked to wait before the next attempt. */
  declare readonly retryAfterMs?: number;
  /** The Idempotency-Key of the request. */
  declare readonly idempotencyKey?: string;
  /** What the platform answered. */
  declare readonly platformError?: PlatformError;
  /** The path of the guide section that helps, at the service. */
  declare readonly documentation?: string;
  /** The whole error body of the API, with the fields that only some codes have. */
  declare readonly body?: ErrorBody;

  constructor({ message, cause, body, ...fields }: ErrorFields) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    const known = {
      ...fields,
      retryable: fields.retryable ?? false,
      details: body?.details ?? [],
      platformError: body?.platform_error,
      documentation: body?.documentation,
    };
    // A field without value is left out, so that a printed error stays short.
    for (const [name, value] of Object.entries(known))
      if (value !== undefined) Object.defineProperty(this, name, { value, enumerable: true });
    if (body) Object.defineProperty(this, "body", { value: body });
  }

  /** The fields for a log, the message included. */
  toJSON(): Record<string, unknown> {
    return { ...(this as object), name: this.name, message: this.message };
  }
}

/** The request is invalid; `details` names each problem. */
export class ValidationError extends HeraldError {}
/** The credential is missing, unknown, expired or revoked. */
export class AuthenticationError extends HeraldError {}
/** The credential does not allow the request. */
export class PermissionError extends HeraldError {}
/** The object does not exist, at Herald or at the platform, or belongs to another client. */
export class NotFoundError extends HeraldError {}
/** The state of the object does not allow the request. */
export class ConflictError extends HeraldError {}
/** The Idempotency-Key was already used with another body. */
export class IdempotencyKeyReusedError extends HeraldError {}
/** Too many requests; `retryAfterMs` says how long to wait. */
export class RateLimitError extends HeraldError {}
/** The platform refused the request; `platformError` has its answer. */
export class PlatformRefusedError extends HeraldError {}
/** The request may have taken effect: repeat it with the same `idempotencyKey`, or read the object. */
export class OutcomeUnknownError extends HeraldError {}
/** The service or a platform cannot answer now. */
export class UnavailableError extends HeraldError {}
/** No answer came: the connection failed, or the attempt took longer than `timeoutMs`. */
export class ConnectionError extends HeraldError {}

/** What was waited for did not happen in time. */
export class WaitTimeoutError extends HeraldError {
  constructor(message: string) {
    super({ code: "timeout", message });
  }
}

/** The message failed or was cancelled, so it will not reach the wanted status. */
export class MessageFailedError extends HeraldError {
  readonly failedMessage: MessageDto;

  constructor(failedMessage: MessageDto) {
    const { message_id, status, error } = failedMessage;
    const reason = error?.message ?? "no reason is known";
    super({
      code: "message_failed",
      message:
        status === "cancelled" ? `${message_id} is cancelled` : `${message_id} is ${status}: ${reason}`,
    });
    this.failedMessage = failedMessage;
  }
}

/** The ad platform could not compute the report. */
export class ReportFailedError extends HeraldError {
  readonly run: InsightsReportRunDto;

  constructor(run: InsightsReportRunDto) {
    super({ code: "report_failed", message: `report ${run.report_run_id} ended with ${run.async_status}` });
    this.run = run;
  }
}

type ErrorClass = new (fields: ErrorFields) => HeraldError;

/** The class of an error by its code; codes that are not listed have the class of their status. */
const CLASS_BY_CODE: ReadonlyMap<ErrorCode, ErrorClass> = new Map<ApiErrorCode, ErrorClass>([
  ["platform_invalid_request", PlatformRefusedError],
  ["platform_permission_denied", PlatformRefusedError],
  ["platform_policy_blocked", PlatformRefusedError],
  ["outcome_unknown", OutcomeUnknownError],
  ["platform_timeout", OutcomeUnknownError],
]);

const CLASS_BY_STATUS: Readonly<Record<number, ErrorClass>> = {
  400: ValidationError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  408: UnavailableError,
  409: ConflictError,
  410: NotFoundError,
  413: ValidationError,
  415: ValidationError,
  422: IdempotencyKeyReusedError,
  429: RateLimitError,
  502: UnavailableError,
  503: UnavailableError,
  504: UnavailableError,
};

/** The error of an answer, as the class of its code or status. A 4xx of another service says nothing about the request. */
export function errorOfAnswer(fields: ErrorFields & { status: number }): HeraldError {
  const { code, status, body } = fields;
  const isForeignRefusal = body === undefined && status < 500 && status !== 429;
  const classOfStatus = isForeignRefusal ? undefined : CLASS_BY_STATUS[status];
  const Class = CLASS_BY_CODE.get(code) ?? classOfStatus ?? HeraldError;
  return new Class(fields);
}
