import { HOUR, MINUTE } from "../../runtime/durations.ts";
import { asObject, type Fields, isObject, objectIn, omitNullish } from "../bodies.ts";

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
  | "paused"
  | "no_socket"
  | "timeout"
  | "unreachable"
  | "disconnected"
  | "unusable_answer"
  /** The object may or may not have been created. */
  | "ambiguous";

/**
 * The scope of a throttle: the app, an asset, one use case of an asset, or changes of one object. A throttled app pauses
 * background jobs only.
 */
export type PauseWidth = "app" | "asset" | "use_case" | "object";

interface VerdictRule {
  codes: readonly (number | readonly [from: number, to: number])[];
  /** Limits the rule to these subcodes; absent: any or none. */
  subcodes?: readonly number[];
  owner?: TokenOwner;
  verdict: RefusalVerdict;
  pauses?: PauseWidth;
  /** Milliseconds to wait when the usage headers report no time. */
  wait?: number;
}

/** The first matching rule decides. Unlisted codes are `invalid`, or `transient` when the platform marks them so. */
const VERDICT_RULES: readonly VerdictRule[] = [
  { codes: [0, 102, 190], owner: "channel", verdict: "token_dead" },
  { codes: [190], subcodes: [459, 464], verdict: "permission" },
  { codes: [102, 190], verdict: "token_dead" },
  { codes: [3, 10, [200, 299]], verdict: "permission" },
  { codes: [368], verdict: "policy" },
  { codes: [4, 341], verdict: "throttled", pauses: "app" },
  { codes: [613], subcodes: [1487632], verdict: "throttled", pauses: "object", wait: HOUR },
  { codes: [17, 32, 613], verdict: "throttled", pauses: "asset" },
  { codes: [[80000, 80014]], verdict: "throttled", pauses: "use_case" },
  { codes: [803], verdict: "missing" },
  { codes: [100], subcodes: [33], verdict: "missing" },
  { codes: [1, 2, 1200], verdict: "transient" },
  // Messaging platforms. The send queue paces a number's throughput and a pair's rate, so these set no pause.
  { codes: [130429, 131056], verdict: "throttled" },
  { codes: [131000, 131016, 131057, 133004], verdict: "transient" },
];

export interface Judgement {
  verdict: RefusalVerdict;
  pauses?: PauseWidth;
  /** Milliseconds to wait when the usage headers report no time. */
  wait: number;
}

export function judge(error: PlatformError, owner: TokenOwner): Judgement {
  const rule = VERDICT_RULES.find((candidate) => matchesRule(candidate, error, owner));
  if (!rule) return { verdict: error.transient ? "transient" : "invalid", wait: MINUTE };
  const { verdict, pauses, wait = MINUTE } = rule;
  return { verdict, wait, ...(pauses ? { pauses } : {}) };
}

const matchesRule = (rule: VerdictRule, { code, subcode }: PlatformError, owner: TokenOwner): boolean =>
  rule.codes.some((entry) =>
    typeof entry === "number" ? entry === code : entry[0] <= code && code <= entry[1],
  ) &&
  (rule.subcodes === undefined || (subcode !== undefined && rule.subcodes.includes(subcode))) &&
  (rule.owner === undefined || rule.owner === owner);

/** The error code of each verdict, in replies and in failed signups. A dead token depends on its owner. */
export const CODE_BY_VERDICT = {
  permission: "platform_permission_denied",
  policy: "platform_policy_blocked",
  throttled: "platform_rate_limited",
  paused: "platform_rate_limited",
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

/** An error as parsed from a platform's error body. */
export interface PlatformError {
  code: number;
  subcode?: number;
  type?: string;
  message: string;
  transient: boolean;
  userTitle?: string;
  userMessage?: string;
  traceId?: string;
  /** Names of the parameters the platform rejects. */
  fields: string[];
  /** The chat platform's explanation. */
  details?: string;
}

/** Undefined when the body has no error with a code. A 200 response can contain an error too. */
export function readPlatformError(body: unknown): PlatformError | undefined {
  const { error } = asObject(body);
  if (!isObject(error)) return undefined;
  const code = toCode(error.code);
  if (code === undefined) return undefined;
  const data = objectIn(error.error_data);
  const subcode = toCode(error.error_subcode);
  return {
    code,
    ...(subcode === undefined ? {} : { subcode }),
    ...nonEmptyStrings({
      type: error.type,
      userTitle: error.error_user_title,
      userMessage: error.error_user_msg,
    }),
    ...nonEmptyStrings({ traceId: error.fbtrace_id, details: data.details }),
    message: typeof error.message === "string" ? error.message : "The platform gave no reason",
    transient: error.is_transient === true,
    fields: blamedFields(data.blame_field_specs),
  };
}

const toCode = (value: unknown): number | undefined =>
  typeof value === "number" || (typeof value === "string" && /^\d+$/.test(value)) ? Number(value) : undefined;

const nonEmptyStrings = (fields: Fields): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).filter(
      (field): field is [string, string] => typeof field[1] === "string" && field[1] !== "",
    ),
  );

/** Reads a list of paths, each a list of names: `[["daily_budget"], ["targeting", "geo_locations"]]`. */
function blamedFields(specs: unknown): string[] {
  if (!Array.isArray(specs)) return [];
  return specs
    .map((path) =>
      [path]
        .flat()
        .filter((name) => typeof name === "string")
        .join("."),
    )
    .filter(Boolean);
}

/** Redacts the call's secrets: platforms quote a malformed token in their error. */
export function withoutSecrets(error: PlatformError, secrets: readonly string[]): PlatformError {
  const redact = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(redact);
    return typeof value === "string" ? redactSecrets(value, secrets) : value;
  };
  return Object.fromEntries(
    Object.entries(error).map(([name, value]) => [name, redact(value)]),
  ) as unknown as PlatformError;
}

/** Shorter values are not redacted: they protect little and may occur in ordinary text. */
const MIN_SECRET_LENGTH = 8;

export const redactSecrets = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret.length >= MIN_SECRET_LENGTH)
    .reduce((rest, secret) => rest.replaceAll(secret, "[secret]"), text);

/** Formats the error for the API's error body. */
export const toPlatformErrorBody = (error: PlatformError): Fields =>
  omitNullish({
    code: error.code,
    subcode: error.subcode,
    type: error.type,
    message: error.message,
    user_title: error.userTitle,
    user_message: error.userMessage,
    details: error.details,
    trace_id: error.traceId,
    fields: error.fields.length === 0 ? undefined : error.fields,
  });
