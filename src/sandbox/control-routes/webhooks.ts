import { object, oneOf, Type } from "../../schema/types.ts";
import type { SandboxContext } from "../context.ts";
import { ControlError } from "../server/error-reply.ts";
import { inboundSources } from "../webhooks/inbound.ts";
import { WEBHOOK_OBJECTS } from "../webhooks/webhooks.ts";
import { Reply } from "../wire/call.ts";
import type { ControlRoute } from "./control-route.ts";
import { jsonReader } from "./read-json.ts";

const inboundMessageSchema = object({
  channel: Type.String({ minLength: 1 }),
  from: Type.String({ minLength: 1 }),
  type: Type.String({ minLength: 1 }),
  content: Type.Optional(Type.Unknown()),
});

const webhookSchema = object({
  object: oneOf(WEBHOOK_OBJECTS),
  entry: Type.Array(Type.Object({ id: Type.String() }, { additionalProperties: true }), { minItems: 1 }),
});

/** Routes that send webhooks to the service. */
export function webhookRoutes(context: SandboxContext): ControlRoute[] {
  const sources = inboundSources(context);
  const [readMessage, readWebhook] = [jsonReader(inboundMessageSchema), jsonReader(webhookSchema)];
  return [
    {
      method: "POST",
      path: "/_sandbox/inbound",
      summary:
        "simulates a message to a phone number, page or photo account: `{channel, from, type, content?}`; missing content is generated",
      answer(request) {
        const message = { content: undefined, ...readMessage(request) };
        const source = sources.find(({ hasChannel }) => hasChannel(message.channel));
        if (!source)
          throw new ControlError(
            404,
            `There is no channel ${message.channel}; GET /_sandbox lists the channels`,
          );
        const webhook = source.receive(message);
        return new Reply({ sent: webhook !== undefined && context.webhooks.send(webhook) }, { status: 202 });
      },
    },
    {
      method: "POST",
      path: "/_sandbox/webhook",
      summary: "sends `{object, entry}` to the service as a signed webhook, regardless of subscriptions",
      answer(request) {
        const { object } = readWebhook(request);
        // Sends the raw body, so that every value arrives as the caller wrote it.
        context.webhooks.sendRaw(object, request.body.toString("utf8"));
        return new Reply({ sent: true }, { status: 202 });
      },
    },
  ];
}
