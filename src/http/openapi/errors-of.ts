import { DATABASE_ERRORS, ERROR_CODES, type ErrorCode } from "../api-error.ts";
import { isRepeatable, type Route } from "../route.ts";

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
    appliesTo: (route) => isProtected(route) && route.scope !== "any credential",
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

/** Every error code of a route: those that follow from its declaration and those that it lists. */
export function errorsOf(route: Route): ErrorCode[] {
  const applicable = ERROR_RULES.filter((rule) => rule.appliesTo(route));
  const codes = new Set([...applicable.flatMap((rule) => rule.codes), ...(route.errors ?? [])]);
  return ERROR_CODES.filter((code) => codes.has(code));
}
