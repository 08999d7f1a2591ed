import { object, oneOf, rule, type Static, Type } from "../../schema/types.ts";
import { DEAD_TOKEN_SUBCODES } from "../wire/graph-error.ts";

/** Faults of calls; WEBHOOK_FAULTS has those of webhooks. FAULT_EFFECTS describes both. */
export const CALL_FAULTS = [
  "error",
  "error_in_200",
  "throttle",
  "html",
  "delay",
  "drop_before",
  "drop_after",
  "dead_token",
] as const;
export const WEBHOOK_FAULTS = ["duplicate_webhook", "reorder_webhook"] as const;

export type CallFault = (typeof CALL_FAULTS)[number];
export type WebhookFault = (typeof WEBHOOK_FAULTS)[number];

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
export type Fault = Static<typeof faultSchema> & { times: number };
