import type { PlatformFailure } from "./failure.ts";
import type { TokenOwner, Verdict } from "./verdicts.ts";

const CODE_BY_VERDICT = {
  permission: "platform_permission_denied",
  policy: "platform_policy_blocked",
  throttled: "platform_rate_limited",
  held: "platform_rate_limited",
  missing: "platform_object_not_found",
  transient: "platform_unavailable",
  unreachable: "platform_unavailable",
  disconnected: "platform_unavailable",
  unusable_answer: "platform_unavailable",
  invalid: "platform_invalid_request",
  timeout: "platform_timeout",
  ambiguous: "platform_timeout",
} as const satisfies Record<Exclude<Verdict, "token_dead">, string>;

const DEAD_TOKEN_CODE = {
  ad_account: "ad_account_revoked",
  channel: "channel_disconnected",
  none: "platform_invalid_request",
} as const satisfies Record<TokenOwner, string>;

/** The codes of every failure but that of a dead token. */
export const FAILURE_CODES = [...new Set(Object.values(CODE_BY_VERDICT))];

/** The stable name of a failure: in the log's `error` fields, and as the API's error code. Nothing else depends on it. */
export const failureCode = ({ verdict, owner }: Pick<PlatformFailure, "verdict" | "owner">) =>
  verdict === "token_dead" ? DEAD_TOKEN_CODE[owner] : CODE_BY_VERDICT[verdict];
