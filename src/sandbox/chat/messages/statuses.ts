import { type ChatCode, lateFailure } from "../chat-error.ts";
import { fateOf } from "../magic.ts";
import { metadataOf } from "../numbers.ts";
import { templatesOf } from "../templates/template.ts";
import type { Scene } from "./content-rules.ts";
import { contactOf } from "./recipient.ts";
import type { SentMessage } from "./send-message.ts";

/** What becomes of a message, and when, in milliseconds. */
const COURSE = { sent: 150, delivered: 400, read: 1_500, played: 2_000 } as const;
type Status = keyof typeof COURSE;
const FAILED_AFTER = 400;

/** Tells by and by what became of it. */
export function followUp(scene: Scene, message: SentMessage): void {
  const { fails, skips } = fateOf(scene.recipient.input);
  if (fails) {
    scene.ground.later(FAILED_AFTER, () => tell(scene, failed(scene, message, fails)));
    return;
  }
  const pricing = pricingOf(scene, message);
  for (const [status, after] of Object.entries(COURSE) as [Status, number][]) {
    if (status === skips || (status === "played" && !message.voice)) continue;
    scene.ground.later(after, () =>
      tell(scene, { ...base(scene, message), status, recipient_user_id: scene.recipient.userId, pricing }, [
        contactOf(scene.recipient),
      ]),
    );
  }
}

function base({ recipient: { waId } }: Scene, { id, opaque }: SentMessage) {
  return {
    id,
    timestamp: String(Math.floor(Date.now() / 1000)),
    ...(waId === undefined ? {} : { recipient_id: waId }),
    ...(opaque === undefined ? {} : { biz_opaque_callback_data: opaque }),
  };
}

/** The scoped id is told only when it was written to. */
function failed(scene: Scene, message: SentMessage, code: ChatCode): unknown {
  const { waId, userId } = scene.recipient;
  return {
    ...base(scene, message),
    status: "failed",
    ...(waId === undefined ? { recipient_user_id: userId } : {}),
    errors: [lateFailure(code, "Message undeliverable.")],
  };
}

/** A template costs by its category; an answer within the day is free. */
function pricingOf({ ground, sender }: Scene, { template }: SentMessage): unknown {
  if (template === undefined)
    return { billable: false, pricing_model: "PMP", type: "free_customer_service", category: "service" };
  const known = templatesOf(ground, sender.waba.id).find(({ name }) => name === template);
  const category = (known?.category ?? "UTILITY").toLowerCase();
  return { billable: true, pricing_model: "PMP", type: "regular", category };
}

function tell({ ground, sender }: Scene, status: unknown, contacts?: readonly unknown[]): void {
  const value = {
    messaging_product: "whatsapp",
    metadata: metadataOf(sender),
    ...(contacts ? { contacts } : {}),
    statuses: [status],
  };
  ground.webhooks.send({
    object: "whatsapp_business_account",
    entry: [{ id: sender.waba.id, changes: [{ field: "messages", value }] }],
  });
}
