import { perSandbox, type SandboxContext } from "../context.ts";
import { demoBackendOf } from "../demo-backend.ts";
import { invalidParameter } from "../graph/graph-error.ts";
import type { Call } from "../graph/node.ts";
import { ownProperty, type Params } from "../graph/params.ts";
import { chatRecipientOutcomeOf } from "../magic-values.ts";
import { type ChatErrorCode, chatError, checkProduct, toWebhookError } from "./chat-error.ts";
import { CONTENT_RULES, INBOUND_ONLY, Part } from "./message-rules.ts";
import { digitsOf, isRegistered, metadataOf, senderOf } from "./numbers.ts";
import {
  contactOf,
  isWamid,
  newWamid,
  type Person,
  readRecipient,
  type SendAttempt,
} from "./people-and-message-ids.ts";
import { templatesOf } from "./templates/template.ts";

/** Sends a message, or marks a received one as read: the platform uses one edge for both. */
export function sendMessage(context: SandboxContext, call: Call): unknown {
  checkProduct(call.params);
  return call.params.has("status") ? markRead(call) : send(context, call);
}

function markRead({ node, params }: Call): unknown {
  if (params.requiredText("status") !== "read") throw invalidParameter("Param status must be one of {READ}");
  const id = params.requiredText("message_id");
  if (!isWamid(id, node, ["in"])) throw chatError(131009, `message_id ${id} was not received by this number`);
  const typing = params.object("typing_indicator");
  if (typing) new Part(typing, "typing_indicator").oneOf("type", ["text"]);
  return { success: true };
}

function send(context: SandboxContext, { node, params }: Call): unknown {
  if ((params.text("recipient_type") ?? "individual") !== "individual")
    throw invalidParameter("Param recipient_type must be one of {INDIVIDUAL}");
  const recipient = readRecipient(params);
  const sender = senderOf(node);
  if (!isRegistered(context, node))
    throw chatError(133010, "The phone number must be registered before it can send.");
  const attempt = { context, sender, recipient };
  const message = readMessage(params, attempt);
  if (recipient.input.replace("+", "") === digitsOf(sender.number))
    throw chatError(131021, "The sender and the recipient are the same number.");
  throwMagicRefusal(attempt);
  if (message.opaque !== undefined && chatRecipientOutcomeOf(recipient.input).eventsRefused)
    demoBackendOf(context).refuseEventsAbout(message.opaque);
  const id = newWamid("out", node);
  scheduleStatuses(attempt, { id, ...message });
  return toAcceptedReply(recipient, { id, ...(message.template ? { message_status: "accepted" } : {}) });
}

const toAcceptedReply = ({ input, waId, userId }: Person, message: unknown) => ({
  messaging_product: "whatsapp",
  contacts: [{ input, ...(waId === undefined ? { user_id: userId } : { wa_id: waId }) }],
  messages: [message],
});

function readMessage(params: Params, attempt: SendAttempt): Omit<SentMessage, "id"> {
  const type = params.text("type") ?? "text";
  const rule = ownProperty(CONTENT_RULES, type);
  if (INBOUND_ONLY.includes(type)) throw chatError(131051, `Messages of type ${type} cannot be sent.`);
  if (!rule) throw invalidParameter(`Param type must be one of {${Object.keys(CONTENT_RULES).join(", ")}}`);
  const content = type === "contacts" ? params.list(type) : params.object(type);
  const message = new Part(content === undefined ? {} : { [type]: content });
  rule(message, attempt);
  const replyContext = params.object("context");
  if (replyContext) new Part(replyContext, "context").requiredText("message_id");
  return {
    template: type === "template" ? message.object(type).text("name") : undefined,
    voice: type === "audio" && message.object(type).has("voice"),
    opaque: params.text("biz_opaque_callback_data"),
  };
}

/** Pairs of sender and recipient that have used up their failing first attempt. */
const triedPairsOf = perSandbox(() => new Set<string>());

function throwMagicRefusal({ context, sender, recipient }: SendAttempt): void {
  const { firstTryError, everyTryError } = chatRecipientOutcomeOf(recipient.input);
  if (everyTryError)
    throw chatError(everyTryError, "More than 24 hours have passed since the person's last message.");
  const pair = `${sender.number.id} ${recipient.userId}`;
  const triedPairs = triedPairsOf(context);
  if (firstTryError === undefined || triedPairs.has(pair)) return;
  triedPairs.add(pair);
  throw chatError(firstTryError, "Try again later.");
}

/** Delay of each status after the message is accepted. */
const STATUS_DELAYS_MS = { sent: 150, delivered: 400, read: 1_500, played: 2_000 } as const;
type Status = keyof typeof STATUS_DELAYS_MS;
const FAILED_STATUS_DELAY_MS = 400;

/** The fields of an accepted message that its statuses depend on. */
interface SentMessage {
  id: string;
  template: string | undefined;
  voice: boolean;
  /** The service's id of the message, returned with every status. */
  opaque: string | undefined;
}

/** Sends the statuses over time: sent, delivered, read and, for voice, played; or only failed. */
function scheduleStatuses(attempt: SendAttempt, message: SentMessage): void {
  const { webhookError, skippedStatus } = chatRecipientOutcomeOf(attempt.recipient.input);
  if (webhookError) {
    attempt.context.schedule(FAILED_STATUS_DELAY_MS, () =>
      sendStatusWebhook(attempt, failedStatus(attempt, message, webhookError)),
    );
    return;
  }
  const pricing = pricingOf(attempt, message);
  for (const [status, delayMs] of Object.entries(STATUS_DELAYS_MS) as [Status, number][]) {
    if (status === skippedStatus || (status === "played" && !message.voice)) continue;
    attempt.context.schedule(delayMs, () =>
      sendStatusWebhook(
        attempt,
        { ...baseStatus(attempt, message), status, recipient_user_id: attempt.recipient.userId, pricing },
        [contactOf(attempt.recipient)],
      ),
    );
  }
}

function baseStatus({ recipient: { waId } }: SendAttempt, { id, opaque }: SentMessage) {
  return {
    id,
    timestamp: String(Math.floor(Date.now() / 1000)),
    ...(waId === undefined ? {} : { recipient_id: waId }),
    ...(opaque === undefined ? {} : { biz_opaque_callback_data: opaque }),
  };
}

/** Includes the scoped id only when the message was addressed to it. */
function failedStatus(attempt: SendAttempt, message: SentMessage, code: ChatErrorCode): unknown {
  const { waId, userId } = attempt.recipient;
  return {
    ...baseStatus(attempt, message),
    status: "failed",
    ...(waId === undefined ? { recipient_user_id: userId } : {}),
    errors: [toWebhookError(code, "Message undeliverable.")],
  };
}

/** A template is billed by its category; other messages are free within the customer service window. */
function pricingOf({ context, sender }: SendAttempt, { template }: SentMessage): unknown {
  if (template === undefined)
    return { billable: false, pricing_model: "PMP", type: "free_customer_service", category: "service" };
  const known = templatesOf(context, sender.waba.id).find(({ name }) => name === template);
  const category = (known?.category ?? "UTILITY").toLowerCase();
  return { billable: true, pricing_model: "PMP", type: "regular", category };
}

function sendStatusWebhook(
  { context, sender }: SendAttempt,
  status: unknown,
  contacts?: readonly unknown[],
): void {
  const value = {
    messaging_product: "whatsapp",
    metadata: metadataOf(sender),
    ...(contacts ? { contacts } : {}),
    statuses: [status],
  };
  context.webhooks.send({
    object: "whatsapp_business_account",
    entry: [{ id: sender.waba.id, changes: [{ field: "messages", value }] }],
  });
}
