import { describeEndpoint, MAX_ADDRESS_CHARS } from "../../delivery/webhook-address.ts";
import { NOT_ATTEMPTED } from "../../domain/events/send-test-event.ts";
import { TEST_EVENT_WAIT_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";
import {
  DISPATCH_KEYS,
  type DispatchKey,
  EVENT_KEYS,
  EVENT_TYPES,
  type EventKey,
  PLATFORMS,
  SERVICES,
} from "../../schema/enumerations.ts";
import {
  implies,
  nullable,
  object,
  oneOf,
  openObject,
  prefixedId,
  rule,
  type Static,
  type TSchema,
  Type,
} from "../../schema/types.ts";
import type { WebhookConfigRow } from "../../store/tenants/webhook-configs.ts";

type VisibleConfig = Pick<
  WebhookConfigRow,
  "webhook_url" | "secret_last4" | "disabled_keys" | "token_header"
>;

/**
 * The configuration as its client sees it: all URLs and switches, but only the last characters of the token.
 */
export function toWebhookConfig(row: VisibleConfig) {
  const { webhook_url: base, secret_last4: last4, disabled_keys } = row;
  const toEndpoint = (key: EventKey) => {
    const { url, events } = describeEndpoint(base, key);
    return { url, events: [...events] };
  };
  const toSwitchedEndpoint = (key: DispatchKey) => ({
    enabled: !disabled_keys.includes(key),
    ...toEndpoint(key),
  });
  const toRoutes = (key: DispatchKey) =>
    describeEndpoint(base, key).routes.map(({ url, events }) => ({ url, events: [...events] }));
  return {
    webhook_url: base ?? "",
    webhook_secret_set: last4 !== null,
    webhook_secret_hint: last4 === null ? "" : `whsec_…${last4}`,
    configured: base !== null,
    token_header: row.token_header,
    signature_header: "x-webhook-token" as const,
    dispatch_urls: {
      platforms: byKey(PLATFORMS, (key) => ({ ...toSwitchedEndpoint(key), routes: toRoutes(key) })),
      services: byKey(SERVICES, toSwitchedEndpoint),
      embedded_signup: toEndpoint("embedded_signup"),
    },
  };
}

const byKey = <K extends string, V>(keys: readonly K[], make: (key: K) => V) =>
  Object.fromEntries(keys.map((key) => [key, make(key)])) as Record<K, V>;

const EXAMPLE_TOKEN = "whsec_pVvyWnTq0cUo3mB6s1dGx8kYhR2eJ5zL7aFi9NQtXkE=";

const endpointFields = (example: string) => ({
  url: nullable(
    Type.String({
      description: "Where these events are sent; null while no webhook_url is set",
      examples: [example],
    }),
  ),
  events: Type.Array(oneOf(EVENT_TYPES), { description: "The types of event that are sent to this URL" }),
});

const enabled = Type.Boolean({
  description: "While false, these events are recorded as `skipped` and not sent",
});

const platform = object(
  {
    enabled,
    ...endpointFields("https://shop.example.com/herald/chat"),
    routes: Type.Array(object(endpointFields("https://shop.example.com/herald/chat/receiveMessage")), {
      description: "Types of event that have their own URL",
    }),
  },
  { title: "PlatformDispatchDto" },
);

const service = object(
  { enabled, ...endpointFields("https://shop.example.com/herald/marketing/events") },
  { title: "ServiceDispatchDto" },
);

/** An object with the same schema for each name. */
const objectOf = <const K extends string, S extends TSchema>(names: readonly K[], schema: S) =>
  object(byKey(names, () => schema));

export const webhookConfig = object(
  {
    webhook_url: Type.String({
      description: 'The base URL of your backend; "" while none is set',
      examples: ["https://shop.example.com/herald"],
    }),
    webhook_secret_set: Type.Boolean({ description: "Whether a token is set" }),
    webhook_secret_hint: Type.String({
      description: 'The last characters of the token; "" while none is set',
      examples: [`whsec_…${EXAMPLE_TOKEN.slice(-4)}`],
    }),
    configured: Type.Boolean({ description: "Whether webhook_url is set" }),
    token_header: Type.Boolean({ description: "Whether deliveries carry the token itself" }),
    signature_header: Type.Literal("x-webhook-token", {
      description: "The header that carries the token on every delivery while `token_header` is true",
    }),
    dispatch_urls: object(
      {
        platforms: objectOf(PLATFORMS, platform),
        services: objectOf(SERVICES, service),
        embedded_signup: object(endpointFields("https://shop.example.com/herald/embedded-signup/events")),
      },
      { title: "DispatchUrlsDto" },
    ),
  },
  {
    title: "WebhookConfigResponseDto",
    examples: [
      toWebhookConfig({
        webhook_url: "https://shop.example.com/herald",
        secret_last4: EXAMPLE_TOKEN.slice(-4),
        disabled_keys: [],
        token_header: true,
      }),
    ],
  },
);

export const configChanges = object(
  {
    webhook_url: Type.Optional(
      Type.String({
        maxLength: MAX_ADDRESS_CHARS,
        pattern: "^[^\\s\\u0000-\\u001f\\u007f-\\u009f]*$",
        "x-message": `webhook_url must have at most ${MAX_ADDRESS_CHARS} characters, none of them a space or control character`,
        description:
          'https, without user name, query and fragment; "" clears it. An international host name is stored in its punycode form',
        examples: ["https://shop.example.com/herald"],
      }),
    ),
    webhook_secret: Type.Optional(
      nullable(
        Type.String({
          pattern: "^[\\x21-\\x7e]{16,256}$",
          "x-message": "webhook_secret must have 16 to 256 visible ASCII characters",
          description: "Your own token, 16 to 256 visible ASCII characters; null clears it",
          examples: ["a-token-of-your-own-choice"],
        }),
      ),
    ),
    token_header: Type.Optional(
      Type.Boolean({
        description:
          "While false, deliveries do not carry the token in `x-webhook-token`; the signature alone proves the sender. Default: true",
      }),
    ),
  },
  { title: "UpdateWebhookConfigDto" },
);

/** Any text: an unknown key has its own error code. */
export const switchParams = object({
  platform: Type.String({
    description: `A dispatch key: ${DISPATCH_KEYS.join(", ")}`,
    examples: ["chatapp"],
  }),
});

export const switchState = object({ enabled: Type.Boolean() }, { title: "SwitchDispatchDto" });

export const secretRotation = object(
  {
    grace_minutes: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 10_080,
        description: "How long deliveries are also signed with the previous token, in minutes. Default: 0",
        examples: [60],
      }),
    ),
  },
  { title: "GenerateSecretDto" },
);

export const generatedSecret = object(
  {
    webhook_secret: Type.String({
      description: "The complete token; it is shown only once",
      examples: [EXAMPLE_TOKEN],
    }),
  },
  { title: "GeneratedSecretDto" },
);

const requiresType = (field: string) =>
  rule(field, `${field} requires type`, implies({ required: [field] }, { required: ["type"] }));

export const testEvent = object(
  {
    key: Type.Optional(
      oneOf(EVENT_KEYS, {
        description:
          "The key to whose URL the event is sent. It must be one of the type's keys. Default: the first of them; without `type`, and for `webhook.test`, webhook_url itself",
      }),
    ),
    type: Type.Optional(
      oneOf(EVENT_TYPES, {
        description: "Sends the example of this type instead, like a real event",
        examples: ["message.received"],
      }),
    ),
    data: Type.Optional(
      openObject(
        {},
        {
          description:
            "Merged over the `data` of the example: objects field by field, all other values replace those of the example. Requires `type`",
          examples: [{ content: { body: "Hello" } }],
        },
      ),
    ),
    wait: Type.Optional(
      Type.Boolean({
        description:
          "Whether the response waits for the first attempt; false: it is 202 at once. Requires `type`. Default: true",
        examples: [true],
      }),
    ),
  },
  { title: "TestWebhookDto", allOf: [requiresType("data"), requiresType("wait")] },
);

/** The reply to a test event that is not waited for. */
export const recordedTest = object({ event_id: prefixedId("evt") }, { title: "RecordedTestDto" });

const attemptedTest = object(
  {
    event_id: prefixedId("evt"),
    delivered: Type.Boolean({ description: "Whether your backend answered with a 2xx status" }),
    status_code: nullable(
      Type.Integer({
        description: "The status of your backend's answer; null if there was none",
        examples: [200],
      }),
    ),
    duration_ms: Type.Integer({
      minimum: 0,
      description: "The duration of the attempt; 0 if there was none",
      examples: [123],
    }),
    error: nullable(
      Type.String({
        description: `Why the event was not delivered; null if it was. An event with a type that was not attempted has \`disabled\` or \`not_configured\` when it is skipped, and \`${NOT_ATTEMPTED}\` when its first attempt was not made within ${TEST_EVENT_WAIT_MS / SECOND} seconds`,
        examples: ["HTTP 503"],
      }),
    ),
  },
  {
    title: "TestWebhookResultDto",
    examples: [
      {
        event_id: "evt_01jc8m4t7v2x5k9w3r6y1b0nqd",
        delivered: true,
        status_code: 200,
        duration_ms: 123,
        error: null,
      },
    ],
  },
);

/** Typed as either reply, because the handler makes both; the route declares the other one beside it. */
export const testResult = Type.Unsafe<Static<typeof attemptedTest> | Static<typeof recordedTest>>(
  attemptedTest,
);
