import { sendTestEvent, type TestEventParts } from "../../domain/events/send-test-event.ts";
import { ApiError } from "../../http/api-error.ts";
import { type Route, route } from "../../http/route.ts";
import { DELIVERY_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";
import { testEvent, testResult } from "./schema.ts";

export const testRoute = (parts: Omit<TestEventParts, "db">): Route =>
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
      if (!sent) throw new ApiError("webhook_not_configured", "Set webhook_url before sending a test event");
      const { id, delivered, statusCode, durationMs, error } = sent;
      return { event_id: id, delivered, status_code: statusCode, duration_ms: durationMs, error };
    },
  });
