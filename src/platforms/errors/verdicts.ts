import { HOUR, MINUTE } from "../../runtime/durations.ts";
import type { PlatformError } from "./platform-error.ts";

/** The owner of a call's token, which is revoked or disconnected when the token is dead. */
export type TokenOwner = "ad_account" | "channel" | "none";

/** The class of a refusal, which decides how the caller reacts. */
export type RefusalVerdict =
  | "token_dead"
  | "permission"
  | "policy"
  | "throttled"
  | "missing"
  | "transient"
  | "invalid";

/** The class of a failure: refused, not sent, no response, or an unusable response. */
export type Verdict =
  | RefusalVerdict
  | "held"
  | "no_socket"
  | "timeout"
  | "unreachable"
  | "disconnected"
  | "unusable_answer"
  /** The object may or may not have been created. */
  | "ambiguous";

/**
 * The scope of a throttle: the app, an asset, one use case of an asset, or changes of one object. A throttled app holds
 * background jobs only.
 */
export type HoldWidth = "app" | "asset" | "use_case" | "object";

interface VerdictRule {
  codes: readonly (number | readonly [from: number, to: number])[];
  /** Limits the rule to these subcodes; absent: any or none. */
  subcodes?: readonly number[];
  owner?: TokenOwner;
  verdict: RefusalVerdict;
  holds?: HoldWidth;
  /** Milliseconds to wait when the usage headers report no time. */
  pause?: number;
}

/** The first matching rule decides. Unlisted codes are `invalid`, or `transient` when the platform marks them so. */
const VERDICT_RULES: readonly VerdictRule[] = [
  { codes: [0, 102, 190], owner: "channel", verdict: "token_dead" },
  { codes: [190], subcodes: [459, 464], verdict: "permission" },
  { codes: [102, 190], verdict: "token_dead" },
  { codes: [3, 10, [200, 299]], verdict: "permission" },
  { codes: [368], verdict: "policy" },
  { codes: [4, 341], verdict: "throttled", holds: "app" },
  { codes: [613], subcodes: [1487632], verdict: "throttled", holds: "object", pause: HOUR },
  { codes: [17, 32, 613], verdict: "throttled", holds: "asset" },
  { codes: [[80000, 80014]], verdict: "throttled", holds: "use_case" },
  { codes: [803], verdict: "missing" },
  { codes: [100], subcodes: [33], verdict: "missing" },
  { codes: [1, 2, 1200], verdict: "transient" },
  // Messaging platforms. The send queue paces a number's throughput and a pair's rate, so these set no hold.
  { codes: [130429, 131056], verdict: "throttled" },
  { codes: [131000, 131016, 131057, 133004], verdict: "transient" },
];

export interface Judgement {
  verdict: RefusalVerdict;
  holds?: HoldWidth;
  /** Milliseconds to wait when the usage headers report no time. */
  pause: number;
}

export function judge(error: PlatformError, owner: TokenOwner): Judgement {
  const rule = VERDICT_RULES.find((candidate) => matchesRule(candidate, error, owner));
  if (!rule) return { verdict: error.transient ? "transient" : "invalid", pause: MINUTE };
  const { verdict, holds, pause = MINUTE } = rule;
  return { verdict, pause, ...(holds ? { holds } : {}) };
}

const matchesRule = (rule: VerdictRule, { code, subcode }: PlatformError, owner: TokenOwner): boolean =>
  rule.codes.some((entry) =>
    typeof entry === "number" ? entry === code : entry[0] <= code && code <= entry[1],
  ) &&
  (rule.subcodes === undefined || (subcode !== undefined && rule.subcodes.includes(subcode))) &&
  (rule.owner === undefined || rule.owner === owner);
