import type { Ground } from "../../context.ts";
import { bare } from "../../wire/json.ts";
import { verdictOn } from "../magic.ts";
import type { Template } from "./template.ts";

const REVIEW_TAKES = 3_000;
const PAUSE_AFTER = 1_000;

/** A reviewer looks at it after a while, unless it is gone by then. */
export const review = (ground: Ground, template: Template): void =>
  ground.later(REVIEW_TAKES, () => {
    if (template.status === "PENDING") decide(ground, template);
  });

function decide(ground: Ground, template: Template): void {
  const verdict = verdictOn(template.name);
  if (verdict === "recategorised") recategorise(ground, template);
  template.status = verdict === "rejected" ? "REJECTED" : "APPROVED";
  template.rejected_reason = verdict === "rejected" ? "INVALID_FORMAT" : "NONE";
  template.changed = Date.now();
  announce(ground, template);
  if (verdict === "paused") ground.later(PAUSE_AFTER, () => pause(ground, template));
}

function pause(ground: Ground, template: Template): void {
  if (template.status !== "APPROVED") return;
  template.status = "PAUSED";
  template.changed = Date.now();
  announce(ground, template);
}

function recategorise(ground: Ground, template: Template): void {
  const previous = template.category;
  if (previous === "MARKETING") return;
  template.category = "MARKETING";
  tell(ground, template, "template_category_update", {
    previous_category: previous,
    new_category: template.category,
  });
}

const EXTRAS: Partial<Record<Template["status"], Record<string, unknown>>> = {
  REJECTED: {
    reason: "INVALID_FORMAT",
    rejection_info: {
      reason: "The template does not say what it is for.",
      recommendation: "Say in the body what the message is about.",
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

/** Tells what has become of it. */
export const announce = (ground: Ground, template: Template): void =>
  tell(ground, template, "message_template_status_update", {
    event: template.status,
    reason: "NONE",
    message_template_category: template.category,
    ...EXTRAS[template.status],
  });

function tell(ground: Ground, template: Template, field: string, what: Record<string, unknown>): void {
  const value = {
    message_template_id: bare(template.id),
    message_template_name: template.name,
    // here the platform writes the language with a hyphen, everywhere else with an underscore
    message_template_language: template.language.replace("_", "-"),
    ...what,
  };
  const time = Math.floor(Date.now() / 1000);
  ground.webhooks.send({
    object: "whatsapp_business_account",
    entry: [{ id: template.waba, time, changes: [{ field, value }] }],
  });
}
