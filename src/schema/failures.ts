import { CAUSE_NAMES } from "./causes/causes.ts";
import { EVENT_KEYS } from "./enumerations.ts";
import { nullable, object, oneOf, prefixedId, type Static, Type, text, timestamp } from "./types.ts";

const counts = (sampleId: ReturnType<typeof prefixedId>) => ({
  count: Type.Integer({ minimum: 1, examples: [17] }),
  first_at: timestamp({ description: "When the first of them failed" }),
  last_at: timestamp({ description: "When the last of them failed" }),
  sample_id: sampleId,
});

const summary = (example: string) => text(example, "What the cause means, in one sentence for a person");

const messageFailures = object(
  {
    kind: Type.Literal("message"),
    channel_id: prefixedId("ch"),
    cause: oneOf(CAUSE_NAMES, { description: "As in the explanation of a message" }),
    summary: summary(
      "The time in which you may answer freely is over: 24 hours have passed since the person last wrote to you.",
    ),
    status_code: Type.Null(),
    ...counts(prefixedId("msg", { description: "The newest of these messages" })),
  },
  { title: "MessageFailuresDto" },
);

const deliveryFailures = object(
  {
    kind: Type.Literal("delivery"),
    key: nullable(
      oneOf(EVENT_KEYS, { description: "The platform or service; null for tests of the bare webhook_url" }),
    ),
    host: Type.Optional(text("shop.example.com", "Host of your backend")),
    cause: text(
      "http_status",
      "`http_status`, or the word of the event's `last_error` in snake_case, such as `timeout` or `connection_refused`",
    ),
    summary: summary("Your backend answered with HTTP 503."),
    status_code: nullable(
      Type.Integer({
        description: "Status of your backend's last answer; null without one",
        examples: [503],
      }),
    ),
    ...counts(prefixedId("evt", { description: "The newest of these events" })),
  },
  { title: "DeliveryFailuresDto" },
);

/** Failures of a client that have the same place and cause. */
export const failureGroup = Type.Union([messageFailures, deliveryFailures], { title: "FailureGroupDto" });

export type FailureGroupDto = Static<typeof failureGroup>;
