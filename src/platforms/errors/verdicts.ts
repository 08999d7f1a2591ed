import { HOUR, MINUTE } from "../../runtime/durations.ts";
import type { PlatformError } from "./platform-error.ts";

/** Whose token a call carries: what dies when the platform calls it dead. */
export type TokenOwner = "ad_account" | "channel" | "none";

/** What a refusal means for the one who called. */
export type RefusalVerdict =
  | "token_dead"
  | "permission"
  | "policy"
  | "throttled"
  | "missing"
  | "transient"
  | "invalid";

/** Every way in which a call can fail: refused, not made, not answered, or answered without what the answer must say. */
export type Verdict =
  | RefusalVerdict
  | "held"
  | "timeout"
  | "unreachable"
  | "disconnected"
  | "unusable_answer"
  /** Something was to be created, and may exist or not. */
  | "ambiguous";

/** What a throttle keeps from being called: everything, an account, one of its quotas, or changes of one object. */
export type HoldWidth = "app" | "asset" | "use_case" | "object";

interface VerdictRule {
  codes: readonly (number | readonly [from: number, to: number])[];
  /** Only with one of these; without the field, with any or none. */
  subcodes?: readonly number[];
  owner?: TokenOwner;
  verdict: RefusalVerdict;
  holds?: HoldWidth;
  /** How long, where the usage headers do not say. */
  pause?: number;
}

/** The first row that fits decides. What is not here is the caller's mistake, unless the platform calls it transient. */
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
  // The messaging platforms' own. A number's throughput and a pair's pace are kept by the queue, not by a hold.
  { codes: [130429, 131056], verdict: "throttled" },
  { codes: [131000, 131016, 131057, 133004], verdict: "transient" },
];

export interface Judgement {
  verdict: RefusalVerdict;
  holds?: HoldWidth;
  /** Milliseconds to stay away, where the usage headers do not say. */
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
