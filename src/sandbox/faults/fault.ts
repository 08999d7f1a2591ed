import { object, oneOf, rule, type Static, Type } from "../../schema/types.ts";
import { DEAD_TOKEN_SUBCODES } from "../wire/graph-error.ts";

/** What can befall a call, or a webhook, on demand. `html` is what a gateway says, `error_in_200` an error that is called a success. */
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

/** A tenant's backend can fail in fewer ways than a platform. */
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
      "x-message": `match.path_prefix must begin with a slash, and under /_sandbox only ${INBOX_PATH} can fail`,
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

/** Where the condition holds, the consequence must. */
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

/** A fault as it was asked for; `times` is what is left of it. */
export type Fault = Static<typeof faultSchema> & { times: number };
