import type { Verdict } from "./verdicts.ts";

/** The error code of each verdict, in replies and in failed signups. A dead token depends on its owner. */
export const CODE_BY_VERDICT = {
  permission: "platform_permission_denied",
  policy: "platform_policy_blocked",
  throttled: "platform_rate_limited",
  held: "platform_rate_limited",
  no_socket: "rate_limited",
  missing: "platform_object_not_found",
  transient: "platform_unavailable",
  unreachable: "platform_unavailable",
  disconnected: "platform_unavailable",
  unusable_answer: "platform_unavailable",
  invalid: "platform_invalid_request",
  timeout: "platform_timeout",
  ambiguous: "platform_timeout",
} as const satisfies Record<Exclude<Verdict, "token_dead">, string>;
