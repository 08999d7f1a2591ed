import type { SandboxContext } from "../../context.ts";
import { toBigInt } from "../../graph/json.ts";
import { reviewResultOf } from "../../magic-values.ts";
import type { Template } from "./template.ts";

const REVIEW_DELAY_MS = 3_000;
const PAUSE_DELAY_MS = 1_000;

/** Reviews the template after a delay, unless it was deleted in the meantime. */
export const scheduleReview = (context: SandboxContext, template: Template): void =>
  context.schedule(REVIEW_DELAY_MS, () => {
    if (template.status === "PENDING") completeReview(context, template);
  });

function completeReview(context: SandboxContext, template: Template): void {
  const reviewResult = reviewResultOf(template.name);
  if (reviewResult === "recategorised") recategorise(context, template);
  template.status = reviewResult === "rejected" ? "REJECTED" : "APPROVED";
  template.rejected_reason = reviewResult === "rejected" ? "INVALID_FORMAT" : "NONE";
  template.changed = Date.now();
  sendStatusUpdate(context, template);
  if (reviewResult === "paused") context.schedule(PAUSE_DELAY_MS, () => pause(context, template));
}

function pause(context: SandboxContext, template: Template): void {
  if (template.status !== "APPROVED") return;
  template.status = "PAUSED";
  template.changed = Date.now();
  sendStatusUpdate(context, template);
}

function recategorise(context: SandboxContext, template: Template): void {
  const previous = template.category;
  if (previous === "MARKETING") return;
  template.category = "MARKETING";
  sendTemplateWebhook(context, template, "template_category_update", {
    previous_category: previous,
    new_category: template.category,
  });
}

const STATUS_DETAILS: Partial<Record<Template["status"], Record<string, unknown>>> = {
  REJECTED: {
    reason: "INVALID_FORMAT",
    rejection_info: {
      reason: "The purpose of the template is unclear.",
      recommendation: "Explain the purpose of the message in the body.",
    },
  },
  PAUSED: {
    reason: "NONE",
    other_info: {
      title: "FIRST_PAUSE",
      description: "Your template has been paused for 3 hours because of low quality.",
    },
  },
};

/** Sends a webhook with the template's current status. */
export const sendStatusUpdate = (context: SandboxContext, template: Template): void =>
  sendTemplateWebhook(context, template, "message_template_status_update", {
    event: template.status,
    reason: "NONE",
    message_template_category: template.category,
    ...STATUS_DETAILS[template.status],
  });

function sendTemplateWebhook(
  context: SandboxContext,
  template: Template,
  field: string,
  details: Record<string, unknown>,
): void {
  const value = {
    message_template_id: toBigInt(template.id),
    message_template_name: template.name,
    // This webhook writes the language with a hyphen; everything else uses an underscore.
    message_template_language: template.language.replace("_", "-"),
    ...details,
  };
  const time = Math.floor(Date.now() / 1000);
  context.webhooks.send({
    object: "whatsapp_business_account",
    entry: [{ id: template.waba, time, changes: [{ field, value }] }],
  });
}
