import { type TSchema, Type } from "../../schema/types.ts";
import { ApiError, type ErrorCode } from "../api-error.ts";
import { errorBody, missingPermissionBody, toErrorBody } from "../error-reply.ts";
import type { Components, Json, Reference } from "./components.ts";
import { ERROR_NOTES } from "./error-notes.ts";
import { COMMON_HEADERS, describeHeaders, type HeaderName, RATE_LIMIT_HEADERS } from "./response-headers.ts";

const REQUEST_ID = "req_01jc8m4t7v2x5k9w3r6y1b0nqd";

/** Headers that depend on the status. */
const HEADERS_BY_STATUS: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ["WWW-Authenticate"],
  429: ["Retry-After", ...RATE_LIMIT_HEADERS],
  503: ["Retry-After"],
};

function headersOf(status: number, errors: readonly ApiError[]): HeaderName[] {
  const isTemporary = errors.some(({ code }) => code === "idempotency_in_progress");
  return [
    ...COMMON_HEADERS,
    ...(isTemporary ? (["Retry-After"] as const) : []),
    ...(HEADERS_BY_STATUS[status] ?? []),
  ];
}

/** Error responses by status. Routes with the same error codes share a response component. */
export function describeErrors(
  codes: readonly ErrorCode[],
  components: Components,
): Record<string, Reference> {
  const errors = codes.map(exampleError);
  const statuses = [...new Set(errors.map(({ status }) => status))];
  return Object.fromEntries(
    statuses.map((status) => {
      const sameStatus = errors.filter((error) => error.status === status);
      const name = sameStatus.map(({ code }) => pascalCase(code)).join("Or");
      return [status, components.share("responses", name, describeResponse(status, sameStatus, components))];
    }),
  );
}

/** The schema of a response with one of these errors. */
const schemaOf = (errors: readonly ApiError[]): TSchema =>
  errors.some(({ code }) => code === "missing_permission")
    ? Type.Union([missingPermissionBody, errorBody])
    : errorBody;

function describeResponse(status: number, errors: readonly ApiError[], components: Components): Json {
  const examples = errors.map((error) => [error.code, { value: toErrorBody(error, REQUEST_ID) }]);
  return {
    description: errors.map(({ code }) => `\`${code}\`: ${ERROR_NOTES[code].when}`).join("\n\n"),
    headers: describeHeaders(headersOf(status, errors), components),
    content: {
      "application/json": {
        schema: components.openSchema(schemaOf(errors)),
        examples: Object.fromEntries(examples),
      },
    },
  };
}

/** A real ApiError, so that the same code writes the example and the real response. */
function exampleError(code: ErrorCode): ApiError {
  const { message, fields = {} } = ERROR_NOTES[code];
  return new ApiError(code, message, { extra: fields });
}

const pascalCase = (code: string) =>
  code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
