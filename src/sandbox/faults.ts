import { object, oneOf, rule, type Static, Type } from "../schema/types.ts";
import { DEAD_TOKEN_SUBCODES } from "./graph/graph-error.ts";

/** Faults of calls; WEBHOOK_FAULTS has those of webhooks. FAULT_EFFECTS describes both. */
const CALL_FAULTS = [
  "error",
  "error_in_200",
  "throttle",
  "html",
  "delay",
  "drop_before",
  "drop_after",
  "dead_token",
] as const;
const WEBHOOK_FAULTS = ["duplicate_webhook", "reorder_webhook"] as const;

export type CallFault = (typeof CALL_FAULTS)[number];
type WebhookFault = (typeof WEBHOOK_FAULTS)[number];

export const INBOX_PATH = "/_sandbox/inbox";

export const FAULT_EFFECTS: Readonly<Record<CallFault | WebhookFault, string>> = {
  error: `refuses the call with \`code\` (default 2), \`subcode\` and the HTTP status of the code; \`error_data\` is JSON text for code 100 with an odd subcode and an object otherwise; under ${INBOX_PATH} \`code\` is the HTTP status (default 500)`,
  error_in_200: "answers with the error of `code` (default 2) and `subcode` in a response with status 200",
  throttle:
    "refuses the call with the rate limit error of its quota, or with `code`; the usage headers show 100 % and the waiting time `ms` (default 60000); with code 4 or 341 they show 100 % for the app, without a time",
  html: "answers with status 502 and an HTML page, like a gateway",
  delay: "answers `ms` milliseconds late (default 1000)",
  drop_before: "closes the connection without executing the call",
  drop_after: "executes the call and closes the connection without an answer",
  dead_token: `makes the call's token dead until the faults are cleared: every call with it fails with error 190 and \`subcode\` (${DEAD_TOKEN_SUBCODES.join(", ")}; default 460); the app's own token is exempt`,
  duplicate_webhook: "sends the next webhook twice; `match` is ignored",
  reorder_webhook:
    "holds the next webhook back until a later one is sent, for at most 5 seconds; `match` is ignored",
};

/** A client's backend can fail in fewer ways than a platform. */
const INBOX_FAULTS = [
  "error",
  "html",
  "delay",
  "drop_before",
  "drop_after",
] as const satisfies readonly CallFault[];

const matchSchema = object({
  method: Type.Optional(oneOf(["GET", "POST", "DELETE"])),
  path_prefix: Type.Optional(
    Type.String({
      pattern: `^/(?!_sandbox)|^${INBOX_PATH}`,
      "x-message": `match.path_prefix must begin with a slash; under /_sandbox only ${INBOX_PATH} can have faults`,
    }),
  ),
  /** A whole path: the prefix of a node also matches the node's edges. */
  path: Type.Optional(
    Type.String({
      pattern: "^/(?!_sandbox)",
      "x-message": "match.path must begin with a slash and not be under /_sandbox",
    }),
  ),
});

const targetsInbox = {
  type: "object",
  required: ["match"],
  properties: {
    match: {
      type: "object",
      required: ["path_prefix"],
      properties: { path_prefix: { type: "string", pattern: `^${INBOX_PATH}` } },
    },
  },
};

const withProperty = (name: string, schema: object) => ({ type: "object", properties: { [name]: schema } });

/** The consequence must hold when the condition does. */
const implies = (condition: object, consequence: object) => ({ anyOf: [{ not: condition }, consequence] });

export const faultSchema = object(
  {
    match: Type.Optional(matchSchema),
    times: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    kind: oneOf([...CALL_FAULTS, ...WEBHOOK_FAULTS]),
    code: Type.Optional(Type.Integer({ minimum: 0 })),
    subcode: Type.Optional(Type.Integer({ minimum: 0 })),
    ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 600_000 })),
  },
  {
    allOf: [
      rule(
        "kind",
        `kind must be one of ${INBOX_FAULTS.join(", ")} under ${INBOX_PATH}`,
        implies(targetsInbox, withProperty("kind", { type: "string", enum: [...INBOX_FAULTS] })),
      ),
      rule(
        "code",
        `code must be an HTTP status from 200 to 599 under ${INBOX_PATH}`,
        implies(targetsInbox, withProperty("code", { type: "integer", minimum: 200, maximum: 599 })),
      ),
      rule(
        "subcode",
        `subcode must be one of ${DEAD_TOKEN_SUBCODES.join(", ")} for a dead token`,
        implies(
          { ...withProperty("kind", { const: "dead_token" }), required: ["kind"] },
          withProperty("subcode", { type: "integer", enum: DEAD_TOKEN_SUBCODES }),
        ),
      ),
    ],
  },
);

/** An armed fault; `times` is the number of uses left. */
type Fault = Static<typeof faultSchema> & { times: number };

/** The properties of a call that faults are matched against. */
interface Target {
  method: string;
  /** Without the query. */
  path: string;
  /** True unless the token is the app's own, which cannot be revoked. */
  hasRevocableToken: boolean;
}

export interface Faults {
  arm(fault: Fault): void;
  /** Faults with uses left, in the order of arming. */
  armed(): readonly Fault[];
  clear(): void;
  /** Returns the oldest fault that matches the call and uses it up once. */
  takeForCall(target: Target): ArmedCallFault | undefined;
  /** True when the fault is armed for the webhook being sent; uses it up once. */
  takeForWebhook(kind: WebhookFault): boolean;
}

export type ArmedCallFault = Fault & { kind: CallFault };

/** `arm` adds a fault; each match uses it up once. It is removed after its last use or by `clear`. */
export function createFaults(): Faults {
  let armed: Fault[] = [];
  const take = <F extends Fault>(predicate: (fault: Fault) => fault is F): F | undefined => {
    const fault = armed.find(predicate);
    if (!fault) return undefined;
    fault.times -= 1;
    armed = armed.filter(({ times }) => times > 0);
    return fault;
  };
  return {
    arm: (fault) => void armed.push({ ...fault }),
    armed: () => armed,
    clear: () => {
      armed = [];
    },
    takeForCall: (target) =>
      take((fault): fault is ArmedCallFault => isCallFault(fault) && isMatch(fault, target)),
    takeForWebhook: (kind) => take((fault): fault is Fault => fault.kind === kind) !== undefined,
  };
}

const isCallFault = (fault: Fault): fault is ArmedCallFault =>
  CALL_FAULTS.some((kind) => kind === fault.kind);

const VERSION_PREFIX = /^\/v\d+\.\d+\//;

const withoutVersion = (path: string) => path.replace(VERSION_PREFIX, "/");

/**
 * A fault without a path matches every call of the graph. Dialogs, downloads and the inbox fail only
 * when the path names them.
 */
function isMatch({ match, kind }: ArmedCallFault, { method, path, hasRevocableToken }: Target): boolean {
  if (kind === "dead_token" && !hasRevocableToken) return false;
  const { method: wantedMethod, path: wantedPath, path_prefix: prefix } = match ?? {};
  if (wantedMethod !== undefined && wantedMethod !== method) return false;
  const paths = [path, withoutVersion(path)];
  if (wantedPath !== undefined && !paths.includes(wantedPath)) return false;
  if (prefix === undefined) return wantedPath !== undefined || VERSION_PREFIX.test(path);
  if (path.startsWith(INBOX_PATH)) return prefix.startsWith(INBOX_PATH) && path.startsWith(prefix);
  return paths.some((candidate) => candidate.startsWith(prefix));
}
