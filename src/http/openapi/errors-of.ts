import { ERROR_CODES, type ErrorCode } from "../api-error.ts";
import type { Route } from "../route.ts";

interface ErrorRule {
  appliesTo: (route: Route) => boolean;
  codes: readonly ErrorCode[];
}

const isProtected = ({ scope }: Route) => scope !== "public";

/** Which refusals follow from which part of a declaration: the pipeline's own, in its order of checks. */
const ERROR_RULES: readonly ErrorRule[] = [
  // A body has no meaning on a GET, so what becomes of one there is no part of the description.
  { appliesTo: ({ method }) => method !== "get", codes: ["payload_too_large", "unsupported_media_type"] },
  { appliesTo: isProtected, codes: ["unauthorized", "ambiguous_credentials", "rate_limited"] },
  // The credential is looked up in the database. A public route that needs the database says so itself.
  { appliesTo: isProtected, codes: ["temporarily_unavailable"] },
  { appliesTo: ({ consoleOnly }) => consoleOnly === true, codes: ["console_only"] },
  {
    appliesTo: (route) => isProtected(route) && route.scope !== "any credential",
    codes: ["insufficient_scope"],
  },
  { appliesTo: ({ roles }) => roles !== undefined, codes: ["role_insufficient"] },
  { appliesTo: ({ gate }) => gate === "terms", codes: ["terms_not_accepted"] },
  {
    appliesTo: ({ idempotent }) => idempotent === true,
    codes: ["idempotency_in_progress", "idempotency_key_reused"],
  },
  // Of every route: it may be sent a parameter it does not know, or a text that no database can keep.
  { appliesTo: () => true, codes: ["validation_failed", "internal_error"] },
  { appliesTo: ({ path }) => path.includes("{"), codes: ["not_found"] },
];

/** Every refusal that a route can answer with: what follows from its declaration, and what it names itself. */
export function errorsOf(route: Route): ErrorCode[] {
  const applicable = ERROR_RULES.filter((rule) => rule.appliesTo(route));
  const codes = new Set([...applicable.flatMap((rule) => rule.codes), ...(route.errors ?? [])]);
  return ERROR_CODES.filter((code) => codes.has(code));
}
