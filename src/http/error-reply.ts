import { PlatformFailure } from "../platforms/errors/failure.ts";
import { SCOPES } from "../schema/enumerations.ts";
import { platformError } from "../schema/platform-error.ts";
import { object, oneOf, Type } from "../schema/types.ts";
import { DatabaseUnavailable, isDeletedClient, isMissingTable } from "../store/database/faults.ts";
import { ApiError, ERROR_CODES } from "./api-error.ts";
import type { OpenExchange } from "./exchange.ts";
import { platformApiError } from "./platform-errors.ts";
import { type ErrorFormat, errorView, prefersHtml } from "./views/error-view.ts";
import { HTML_REPLY } from "./views/view.ts";

const EXAMPLE_MESSAGE = "limit must be <= 100";

/** What some codes add. */
const EXTRA_FIELDS = {
  required_scope: Type.Optional(oneOf(SCOPES, { description: "With `insufficient_scope`" })),
  current_version: Type.Optional(
    Type.String({
      description: "With refusals about the terms: the version in force",
      examples: ["2026-11-01"],
    }),
  ),
  missing: Type.Optional(
    Type.Array(Type.String({ examples: ["ads_management"] }), {
      description: "With `missing_permission`: what the person did not grant",
    }),
  ),
  retryable: Type.Optional(
    Type.Boolean({ description: "With refusals of a platform: whether the same may succeed later" }),
  ),
  platform_error: Type.Optional(platformError),
};

/** The one error body, for every status from 400 up. Some codes add fields of their own. */
export const errorBody = Type.Object(
  {
    error: Type.Unsafe<string>({ type: "string", enum: ERROR_CODES, description: "A stable code" }),
    message: Type.String({
      minLength: 1,
      description: "One sentence for a person",
      examples: [EXAMPLE_MESSAGE],
    }),
    details: Type.Optional(
      Type.Array(
        object({
          path: Type.String({ description: "A JSON pointer to what is wrong", examples: ["/limit"] }),
          message: Type.String({ examples: [EXAMPLE_MESSAGE] }),
        }),
        { description: "Each problem, where naming them helps" },
      ),
    ),
    ...EXTRA_FIELDS,
    request_id: Type.String({
      description: "Names the request in our log",
      examples: ["req_01jc8m4t7v2x5k9w3r6y1b0nqd"],
    }),
  },
  {
    title: "Error",
    description: "The body of every answer from 400 up. Some codes add fields of their own.",
    additionalProperties: true,
  },
);

/** Whatever was thrown, as the answer it becomes. Only what is not ours is an internal error, and nothing of it leaks. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof PlatformFailure) return platformApiError(thrown);
  const cause = thrown;
  if (thrown instanceof DatabaseUnavailable)
    return new ApiError(
      "temporarily_unavailable",
      "The service cannot reach its database, please try again",
      {
        cause,
      },
    );
  if (isMissingTable(thrown))
    return new ApiError("temporarily_unavailable", "The service's database is not prepared yet", { cause });
  if (isDeletedClient(thrown))
    return new ApiError("unauthorized", "The client of this credential no longer exists", { cause });
  return new ApiError("internal_error", "Something went wrong on our side", { cause });
}

export const toErrorBody = (error: ApiError, requestId: string) => ({
  error: error.code,
  message: error.message,
  ...(error.details ? { details: error.details } : {}),
  ...error.extra,
  request_id: requestId,
});

export const JSON_TYPE = "application/json; charset=utf-8";

/** What is sent of an error: the body that all have, or a page where one was asked for. */
export function errorReply(error: ApiError, exchange: OpenExchange, errorFormat: ErrorFormat) {
  const { status } = error;
  Object.assign(exchange.headers, error.headers);
  if (prefersHtml(errorFormat, exchange.header("accept")))
    return { status, type: HTML_REPLY.mediaType, body: errorView(error, exchange) };
  return { status, type: JSON_TYPE, body: JSON.stringify(toErrorBody(error, exchange.requestId)) };
}
