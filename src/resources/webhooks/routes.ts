import {
  type AddressRules,
  checkAddress,
  isDispatchKey,
  isEventOfKey,
} from "../../delivery/webhook-address.ts";
import {
  awaitFirstAttempt,
  recordTestEvent,
  sendTestEvent,
  type TestEventParts,
} from "../../domain/events/send-test-event.ts";
import { requestActor } from "../../domain/tenants/audit-actors.ts";
import { changeWebhookConfig, generateSecret, switchDispatch } from "../../domain/tenants/webhook-configs.ts";
import { ApiError, errorOf, invalidField } from "../../http/api-error.ts";
import { createHeavyRequests } from "../../http/heavy-requests.ts";
import { type Route, route } from "../../http/route.ts";
import type { EventNotifier } from "../../queue/wake-ups.ts";
import { DELIVERY_DEADLINE_MS, TEST_EVENT_WAIT_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";
import { DISPATCH_KEYS, EVENT_KEYS, type EventKey, type EventType } from "../../schema/enumerations.ts";
import { findWebhookConfig } from "../../store/tenants/webhook-configs.ts";
import {
  configChanges,
  generatedSecret,
  recordedTest,
  secretRotation,
  switchParams,
  switchState,
  testEvent,
  testResult,
  toWebhookConfig,
  webhookConfig,
} from "./schema.ts";

interface TestParts extends Omit<TestEventParts, "db"> {
  notifier: EventNotifier;
  /** Aborted when the process begins to stop. */
  stopping: AbortSignal;
}

interface WebhookParts extends TestParts {
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

/** Waiting requests of one client in this process. */
const MAX_WAITING_TESTS = 5;

/** The largest `data`, as received. */
const MAX_DATA_BYTES = 256 * 1_024;

function testRoute({ stopping, notifier, ...parts }: TestParts): Route {
  const waitingTests = createHeavyRequests("waiting test event", MAX_WAITING_TESTS);
  return route({
    method: "post",
    path: "/api/webhooks/test",
    operationId: "sendTestEvent",
    scope: "webhooks:manage",
    summary: "Send a test event now",
    description: `Without \`type\`, makes one attempt, even if the key is disabled, with a timeout of ${DELIVERY_DEADLINE_MS / SECOND} seconds. The event has the type \`webhook.test\` and empty data, and is listed with the other events.

With \`type\`, which needs a \`svc_test_\` API key or a user token, the event is the example of that type with \`data\` merged over its data, and with \`test: true\`. It is recorded and delivered like a real event: switches and retries apply, and without a webhook_url it is skipped. Its ids are those of the example and name no object; it changes no message, conversation, template or channel. The response is that of the first attempt, at most ${TEST_EVENT_WAIT_MS / SECOND} seconds later. A client has at most ${MAX_WAITING_TESTS} waiting requests at a time: another one is 429 \`rate_limited\`.`,
    errors: ["webhook_not_configured", "test_key_required"],
    body: testEvent,
    maxFieldBytes: MAX_DATA_BYTES,
    reply: testResult,
    otherwise: { status: 202, when: (reply) => !("delivered" in reply), reply: recordedTest },
    async handle({ db, caller, body, callerGone, addLogIds }) {
      const { clientId } = caller;
      const { type, data = {}, wait = true } = body;
      if (type === undefined) return sendOnce({ ...parts, db }, clientId, body.key ?? null);
      requireTestCredential(caller.credential);
      const event = { type, key: requireKeyOf(type, body.key), data };
      const record = async () => {
        const id = requireRecorded(await recordTestEvent({ db, notifier }, clientId, event));
        addLogIds({ event_id: id });
        return id;
      };
      if (!wait) return { event_id: await record() };
      return waitingTests.run(clientId, async () => {
        const id = await record();
        const signals = [callerGone(), stopping];
        return { event_id: id, ...(await awaitFirstAttempt(db, clientId, { id, signals })) };
      });
    },
  });
}

async function sendOnce(parts: TestEventParts, clientId: string, key: EventKey | null) {
  const sent = await sendTestEvent(parts, clientId, key);
  if (!sent) throw errorOf("webhook_not_configured");
  const { id, delivered, statusCode, durationMs, error } = sent;
  return { event_id: id, delivered, status_code: statusCode, duration_ms: durationMs, error };
}

/** A key of production must not make events that look real. */
function requireTestCredential(credential: { type: "api_key" | "user"; isTestKey?: boolean }): void {
  if (credential.type === "api_key" && !credential.isTestKey) throw errorOf("test_key_required");
}

/** The key, or the first of the type. An event of the type webhook.test has none unless the caller names one. */
function requireKeyOf(type: EventType, key: EventKey | undefined): EventKey | null {
  const keys = EVENT_KEYS.filter((candidate) => isEventOfKey(candidate, type));
  if (key === undefined) return type === "webhook.test" ? null : (keys[0] as EventKey);
  if (keys.includes(key)) return key;
  throw invalidField("/key", `key must be one of ${keys.join(", ")} for the type ${type}`);
}

/** The credential of a client that was just deleted may still be cached. */
function requireRecorded(id: string | undefined): string {
  if (id === undefined) throw errorOf("webhook_not_configured");
  return id;
}
