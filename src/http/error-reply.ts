import { PlatformFailure } from "../platforms/errors/failure.ts";
import { ShareRefused } from "../runtime/async/shares.ts";
import { REQUEST_DATABASE_TIMEOUT_MS } from "../runtime/deadlines.ts";
import { POSTGRES_STATES, READINESS_STATUSES, REDIS_STATES, SCOPES } from "../schema/enumerations.ts";
import { platformError } from "../schema/stored-errors.ts";
import { object, oneOf, Type } from "../schema/types.ts";
import {
  ConnectionsBusy,
  DatabaseUnavailable,
  isDeletedClient,
  isMissingTable,
} from "../store/database/faults.ts";
import {
  ApiError,
  databaseUnusable,
  documentationOf,
  ERROR_CODES,
  errorOf,
  overloaded,
  platformApiError,
  retryAfter,
} from "./api-error.ts";
import { RATE_LIMIT_HEADERS } from "./rate-limit.ts";
import { JSON_TYPE, preferredType } from "./reply.ts";
import { type Exchange, isMediaReply, type Route } from "./route.ts";
import { HTML_REPLY, html, renderView } from "./views/view.ts";

/**
 * Maps anything thrown to an API error. Unknown errors become `internal_error` and reveal nothing of their
 * cause.
 */
export function toApiError(thrown: unknown, { isRepeatable }: { isRepeatable: boolean }): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof PlatformFailure) return platformApiError(thrown);
  if (thrown instanceof ShareRefused) return overloaded();
  const cause = thrown;
  if (thrown instanceof ConnectionsBusy) return thrown.isOwnShareUsed ? shareUsed(cause) : overloaded();
  if (thrown instanceof DatabaseUnavailable && thrown.mayHaveWritten && !isRepeatable)
    return errorOf("outcome_unknown", { cause });
  if (thrown instanceof DatabaseUnavailable) return databaseUnusable("unavailable", { cause });
  if (isMissingTable(thrown)) return databaseUnusable("unmigrated", { cause });
  if (isDeletedClient(thrown))
    return new ApiError("unauthorized", "The client of this credential no longer exists", { cause });
  return errorOf("internal_error", { cause });
}

const shareUsed = (cause: unknown): ApiError =>
  new ApiError("rate_limited", "Too many requests at the same time, please try again", {
    headers: retryAfter(REQUEST_DATABASE_TIMEOUT_MS),
    cause,
  });

export function toErrorBody(error: ApiError, requestId: string) {
  const documentation = documentationOf(error.code);
  return {
    error: error.code,
    message: error.message,
    ...(error.details ? { details: error.details } : {}),
    ...error.extra,
    ...(documentation ? { documentation } : {}),
    request_id: requestId,
  };
}

interface ErrorExchange extends Exchange {
  headers: Record<string, string | number>;
}

/** The error as JSON, or as an HTML page when the route and the Accept header ask for one. */
export function errorReply(error: ApiError, exchange: ErrorExchange, errorFormat: ErrorFormat) {
  const { status } = error;
  // The requests at the same time were too many, not those of the minute that these headers describe.
  if (error.cause instanceof ConnectionsBusy)
    for (const name of RATE_LIMIT_HEADERS) delete exchange.headers[name];
  Object.assign(exchange.headers, error.headers);
  if (prefersHtml(errorFormat, exchange.header("accept")))
    return {
      status,
      type: HTML_REPLY.mediaType,
      body: error.view ?? errorView(error, exchange, errorFormat),
    };
  return { status, type: JSON_TYPE, body: JSON.stringify(toErrorBody(error, exchange.requestId)) };
}

/** Paths whose errors are HTML pages unless the caller prefers JSON. */
const VIEW_PATHS = /^\/(console|embed)(?=[/?]|$)/;

/** Paths whose errors are HTML pages when the caller prefers them: programs read the guides, too. */
const GUIDE_PATHS = /^\/docs(?=[/?]|$)/;

const ERROR_FORMATS = ["text/html", "application/json"] as const;

/** The error format when Accept has no preference; undefined means JSON regardless of Accept. */
export type ErrorFormat = (typeof ERROR_FORMATS)[number] | undefined;

/** The error format of a path without a route. */
export function errorFormatAt(url: string): ErrorFormat {
  if (VIEW_PATHS.test(url)) return "text/html";
  return GUIDE_PATHS.test(url) ? "application/json" : undefined;
}

/** Only routes with an HTML reply have HTML errors; outside the view paths the caller must prefer HTML. */
export function errorFormatOf({ path, reply }: Route): ErrorFormat {
  if (!isMediaReply(reply) || reply.mediaType !== HTML_REPLY.mediaType) return undefined;
  return errorFormatAt(path) ?? "application/json";
}

const prefersHtml = (errorFormat: ErrorFormat, accept: string | undefined): boolean =>
  errorFormat !== undefined && (preferredType(accept, ERROR_FORMATS) ?? errorFormat) === "text/html";

const TITLES: Readonly<Record<number, string>> = {
  401: "Please sign in",
  403: "You do not have access",
  404: "Page not found",
  405: "Method not allowed",
  410: "This link is no longer valid",
  413: "The request is too large",
  429: "Too many requests",
  503: "Please try again in a moment",
};

const titleOf = (status: number): string =>
  TITLES[status] ?? (status >= 500 ? "Something went wrong" : "The request failed");

const toSentence = (message: string): string => (/[.!?…]$/.test(message) ? message : `${message}.`);

const LINKS_FOR_DEVELOPERS = html`<p><a href="/docs/">Guides</a> · <a href="/api/docs">API reference</a></p>`;

/** The HTML page of an error. Pages for developers, whose errors are JSON unless asked for, lead on. */
const errorView = (error: ApiError, exchange: Exchange, errorFormat: ErrorFormat): string =>
  renderView(exchange, {
    title: titleOf(error.status),
    content: html`<p>${toSentence(error.message)}</p>
${(error.details ?? []).slice(1).map(({ message }) => html`<p>${toSentence(message)}</p>`)}
${errorFormat === "application/json" ? LINKS_FOR_DEVELOPERS : undefined}
<footer data-error="${error.code}">Error ${error.status} · request <span class="whole">${exchange.requestId}</span></footer>`,
  });

const EXAMPLE_MESSAGE = "limit must be at most 100";

/** Fields that only some error codes have. */
const EXTRA_FIELDS = {
  required_scope: Type.Optional(
    oneOf(SCOPES, { description: "With `insufficient_scope`: a scope that would be sufficient" }),
  ),
  current_version: Type.Optional(
    Type.String({
      description: "With `terms_not_accepted` and `terms_version_not_current`: the version in force",
      examples: ["2026-11-01"],
    }),
  ),
  missing: Type.Optional(
    Type.Array(Type.String({ examples: ["ads_management"] }), {
      description: "With `missing_permission`: the requested permissions that the person did not grant",
    }),
  ),
  retryable: Type.Optional(
    Type.Boolean({ description: "With platform errors: whether the same request may succeed later" }),
  ),
  platform_error: Type.Optional(platformError),
  status: Type.Optional(
    oneOf(READINESS_STATUSES, { description: "With 503 of `GET /readyz`: `unavailable`" }),
  ),
  postgres: Type.Optional(
    oneOf(POSTGRES_STATES, { description: "With 503 of `GET /readyz`: why the process is not ready" }),
  ),
  redis: Type.Optional(oneOf(REDIS_STATES, { description: "With 503 of `GET /readyz`: the state of Redis" })),
};

/** The body of every error response. Some codes add fields. */
export const errorBody = Type.Object(
  {
    error: Type.Unsafe<string>({
      type: "string",
      enum: ERROR_CODES,
      description: "Stable error code to program against",
    }),
    message: Type.String({
      minLength: 1,
      description: "Explanation for people; the wording may change",
      examples: [EXAMPLE_MESSAGE],
    }),
    details: Type.Optional(
      Type.Array(
        object({
          path: Type.String({
            description: "JSON pointer to the invalid field or parameter",
            examples: ["/limit"],
          }),
          message: Type.String({ examples: [EXAMPLE_MESSAGE] }),
        }),
        { description: "One entry per invalid field or parameter" },
      ),
    ),
    ...EXTRA_FIELDS,
    documentation: Type.Optional(
      Type.String({
        description:
          "Path of the guide section that helps with this code; with `.md` before `#` it is Markdown",
        examples: ["/docs/guides/paging-idempotency-limits#requests"],
      }),
    ),
    request_id: Type.String({
      description: "Id of the request in Herald's log; the same as `X-Request-Id`",
      examples: ["req_01jc8m4t7v2x5k9w3r6y1b0nqd"],
    }),
  },
  {
    title: "ErrorBody",
    description: "The body of every response with a status of 400 or above. Some codes add fields.",
    additionalProperties: true,
  },
);

const { message, missing, documentation, request_id } = errorBody.properties;

/** The body of `missing_permission`, named by the interface specification. */
export const missingPermissionBody = Type.Object(
  { error: Type.Literal("missing_permission"), message, missing, documentation, request_id },
  { title: "MissingPermissionResponseDto", additionalProperties: true },
);
