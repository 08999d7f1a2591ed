import { API_VERSION } from "../../schema/enumerations.ts";
import { type TSchema, Type } from "../../schema/types.ts";
import { ApiError, DATABASE_ERRORS, ERROR_CODES, type ErrorCode } from "../api-error.ts";
import { errorBody, missingPermissionBody, toErrorBody } from "../error-reply.ts";
import { RATE_LIMIT_HEADERS } from "../rate-limit.ts";
import { isRepeatable, type Route } from "../route.ts";
import type { Components, Json, Reference } from "./components.ts";
import { ERROR_NOTES } from "./error-notes.ts";

/** Every error code of a route: those that follow from its declaration and those that it lists. */
export function errorsOf(route: Route): ErrorCode[] {
  const applicable = ERROR_RULES.filter((rule) => rule.appliesTo(route));
  const codes = new Set([...applicable.flatMap((rule) => rule.codes), ...(route.errors ?? [])]);
  return ERROR_CODES.filter((code) => codes.has(code));
}

interface ErrorRule {
  appliesTo: (route: Route) => boolean;
  codes: readonly ErrorCode[];
}

const isProtected = ({ scope }: Route) => scope !== "public";

/** Error codes of the pipeline, by the part of a route declaration that makes them possible. */
const ERROR_RULES: readonly ErrorRule[] = [
  // A body on a GET has no meaning in HTTP, so its errors are not documented.
  {
    appliesTo: ({ method }) => method !== "get",
    codes: ["request_timeout", "payload_too_large", "unsupported_media_type", "overloaded"],
  },
  { appliesTo: isProtected, codes: ["unauthorized", "ambiguous_credentials", "rate_limited"] },
  // The credential lookup needs the database. A public route that needs the database lists these codes itself.
  { appliesTo: isProtected, codes: DATABASE_ERRORS },
  { appliesTo: (route) => isProtected(route) && !isRepeatable(route), codes: ["outcome_unknown"] },
  { appliesTo: ({ consoleOnly }) => consoleOnly === true, codes: ["console_only"] },
  {
    appliesTo: (route) => isProtected(route) && route.scope !== "any_credential",
    codes: ["insufficient_scope"],
  },
  { appliesTo: ({ roles }) => roles !== undefined, codes: ["role_insufficient"] },
  { appliesTo: ({ gate }) => gate === "terms", codes: ["terms_not_accepted"] },
  {
    appliesTo: ({ idempotent }) => idempotent !== undefined,
    codes: ["idempotency_in_progress", "idempotency_key_reused"],
  },
  // Every route rejects unknown parameters and text that Postgres cannot store.
  { appliesTo: () => true, codes: ["validation_failed", "internal_error"] },
  { appliesTo: ({ path }) => path.includes("{"), codes: ["not_found"] },
];

const REQUEST_ID = "req_01jc8m4t7v2x5k9w3r6y1b0nqd";

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

/** A real ApiError, so that the same code writes the example and the real response. */
function exampleError(code: ErrorCode): ApiError {
  const { message, fields = {} } = ERROR_NOTES[code];
  return new ApiError(code, message, { extra: fields });
}

const pascalCase = (code: string) =>
  code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

const text = (description: string, example: string): Json => ({
  description,
  schema: { type: "string" },
  example,
});

const count = (description: string, example: number): Json => ({
  description,
  schema: { type: "integer", minimum: 0 },
  example,
});

/** The response headers that the documentation describes. */
const HEADERS = {
  "X-Request-Id": text(
    "Id of this request in Herald's log: your own `X-Request-Id` if you sent 1 to 128 visible ASCII characters, otherwise a generated one.",
    REQUEST_ID,
  ),
  "X-Api-Version": text("The version of this API.", API_VERSION),
  "RateLimit-Limit": count("Requests that the client may make per minute.", 12_000),
  "RateLimit-Remaining": count("Requests left in the current minute.", 11_984),
  "RateLimit-Reset": count("Seconds until the count starts again.", 42),
  "Retry-After": count("Seconds to wait before the next attempt.", 5),
  Location: text("Path of the created object.", "/api/outbound/messages/msg_01jc8m4t7v2x5k9w3r6y1b0nqd"),
  "Idempotent-Replay": text(
    "`true` when this is the stored first response to the same Idempotency-Key; otherwise absent.",
    "true",
  ),
  ETag: text(
    "Identifies this body. Send it as `If-None-Match` to get 304 without a body while nothing has changed.",
    '"3f0c9a52-6b1e-4d47-9c58-2a7e10b6d4f3"',
  ),
  "WWW-Authenticate": text("The accepted kinds of credential.", "Bearer"),
} as const;

export type HeaderName = keyof typeof HEADERS;

/** Headers of every response, regardless of its status. */
export const COMMON_HEADERS = ["X-Request-Id", "X-Api-Version"] as const;

/** References to the headers of one response. */
export const describeHeaders = (names: readonly HeaderName[], components: Components): Json =>
  Object.fromEntries(names.map((name) => [name, components.share("headers", name, HEADERS[name])]));
