import { type ChatErrorCode, toWebhookError } from "../chat-error.ts";
import { magicOutcomeOf } from "../magic-values.ts";
import { metadataOf } from "../numbers.ts";
import { templatesOf } from "../templates/template.ts";
import { contactOf } from "./recipient.ts";
import type { SendAttempt } from "./send-attempt.ts";

/** Delay of each status after the message is accepted. */
const STATUS_DELAYS_MS = { sent: 150, delivered: 400, read: 1_500, played: 2_000 } as const;
type Status = keyof typeof STATUS_DELAYS_MS;
const FAILED_STATUS_DELAY_MS = 400;

/** The fields of an accepted message that its statuses depend on. */
export interface SentMessage {
  id: string;
  template: string | undefined;
  voice: boolean;
  /** Returned with every status. */
  opaque: string | undefined;
}

/** Sends the statuses over time: sent, delivered, read and, for voice, played; or only failed. */
export function scheduleStatuses(attempt: SendAttempt, message: SentMessage): void {
  const { webhookError, skippedStatus } = magicOutcomeOf(attempt.recipient.input);
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
