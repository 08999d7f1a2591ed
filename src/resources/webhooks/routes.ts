import { type AddressRules, checkAddress, isDispatchKey } from "../../delivery/webhook-address.ts";
import { sendTestEvent, type TestEventParts } from "../../domain/events/send-test-event.ts";
import { requestActor } from "../../domain/tenants/audit-actors.ts";
import { changeWebhookConfig, generateSecret, switchDispatch } from "../../domain/tenants/webhook-configs.ts";
import { ApiError, errorOf, invalidField } from "../../http/api-error.ts";
import { type Route, route } from "../../http/route.ts";
import { DELIVERY_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";
import { DISPATCH_KEYS } from "../../schema/enumerations.ts";
import { findWebhookConfig } from "../../store/tenants/webhook-configs.ts";
import {
  configChanges,
  generatedSecret,
  secretRotation,
  switchParams,
  switchState,
  testEvent,
  testResult,
  toWebhookConfig,
  webhookConfig,
} from "./schema.ts";

interface WebhookParts extends Omit<TestEventParts, "db"> {
  addresses: AddressRules;
}

export function webhookRoutes(parts: WebhookParts): Route[] {
  const { addresses } = parts;
  return [
    route({
      method: "get",
      path: "/api/webhooks/config",
      operationId: "getWebhookConfig",
      scope: "webhooks:manage",
      summary: "Read the webhook configuration",
      reply: webhookConfig,
      handle: async ({ db, caller }) => toWebhookConfig(await findWebhookConfig(db, caller.clientId)),
    }),
    route({
      method: "patch",
      path: "/api/webhooks/config",
      operationId: "updateWebhookConfig",
      scope: "webhooks:manage",
      summary: "Set the webhook URL and token",
      description:
        "`webhook_url` must be an https URL that is reachable from the internet. Setting or clearing the token ends the grace period of the previous token.",
      body: configChanges,
      reply: webhookConfig,
      async handle(context) {
        const { webhook_url, webhook_secret: webhookSecret, token_header: tokenHeader } = context.body;
        const webhookUrl = await validateAddress(webhook_url, addresses);
        const changes = { webhookUrl, webhookSecret, tokenHeader };
        return toWebhookConfig(
          await changeWebhookConfig({ ...parts, db: context.db }, requestActor(context), changes),
        );
      },
    }),
    route({
      method: "patch",
      path: "/api/webhooks/dispatch/{platform}",
      operationId: "updateWebhookDispatch",
      scope: "webhooks:manage",
      summary: "Enable or disable the events of a platform or service",
      errors: ["unknown_dispatch_key"],
      params: switchParams,
      body: switchState,
      reply: webhookConfig,
      async handle(context) {
        const { platform: key } = context.params;
        if (!isDispatchKey(key))
          throw new ApiError("unknown_dispatch_key", `platform must be one of ${DISPATCH_KEYS.join(", ")}`);
        const { enabled } = context.body;
        return toWebhookConfig(await switchDispatch(context.db, requestActor(context), { key, enabled }));
      },
    }),
    route({
      method: "post",
      path: "/api/webhooks/config/generate-secret",
      operationId: "generateWebhookSecret",
      scope: "webhooks:manage",
      summary: "Generate a new webhook token",
      description:
        "The token is shown only in this response. During the grace period deliveries have two signatures, the new token's first; `x-webhook-token` carries the new token immediately.",
      body: secretRotation,
      status: 201,
      reply: generatedSecret,
      async handle(context) {
        const graceMinutes = context.body.grace_minutes ?? 0;
        return {
          webhook_secret: await generateSecret(
            { ...parts, db: context.db },
            requestActor(context),
            graceMinutes,
          ),
        };
      },
    }),
    testRoute(parts),
  ];
}

/** Returns the URL as it is stored: null to clear it, undefined to leave it unchanged. */
async function validateAddress(given: string | undefined, rules: AddressRules) {
  if (given === undefined) return undefined;
  if (given === "") return null;
  const checked = await checkAddress(given, rules);
  if (checked.outcome === "refused") throw invalidField("/webhook_url", checked.message);
  return checked.url;
}

const testRoute = (parts: Omit<TestEventParts, "db">): Route =>
  route({
    method: "post",
    path: "/api/webhooks/test",
    operationId: "sendTestEvent",
    scope: "webhooks:manage",
    summary: "Send a test event now",
    description: `Makes one attempt, even if the key is disabled, with a timeout of ${DELIVERY_DEADLINE_MS / SECOND} seconds. The event has the type \`webhook.test\` and empty data, and is listed with the other events.`,
    errors: ["webhook_not_configured"],
    body: testEvent,
    reply: testResult,
    async handle({ db, caller, body }) {
      const sent = await sendTestEvent({ ...parts, db }, caller.clientId, body.key ?? null);
      if (!sent) throw errorOf("webhook_not_configured");
      const { id, delivered, statusCode, durationMs, error } = sent;
      return { event_id: id, delivered, status_code: statusCode, duration_ms: durationMs, error };
    },
  });
