import { templateStatus } from "../chat/template-status.ts";
import { asObject, present, textOf } from "../client/shapes.ts";
import type { Asset, Finding, Reader } from "./reading.ts";

type Fields = Record<string, unknown>;

/** What the platform tells about templates, numbers and the business itself, by the name of the field. */
export const NOTICES: Readonly<Record<string, Reader>> = {
  message_template_status_update: template("template.status_updated", ({ event, reason }) => {
    const word = textOf(event);
    if (word === undefined) return undefined;
    return { status: templateStatus(word), platform_status: word, reason: textOf(reason) };
  }),
  message_template_quality_update: template("template.quality_updated", (value) => ({
    before: textOf(value.previous_quality_score),
    after: textOf(value.new_quality_score),
  })),
  template_category_update: template("template.category_updated", (value) => ({
    before: textOf(value.previous_category),
    after: textOf(value.new_category),
  })),
  account_update: readAccountUpdate,
  account_review_update: change(({ decision }) => decision),
  account_alerts: change(({ alert_info }) => asObject(alert_info).alert_type),
  business_capability_update: change(({ max_daily_conversations_per_business: most }) => most),
  phone_number_name_update: change(({ decision }) => decision),
  phone_number_quality_update: change(({ event }) => event),
  business_username_updates: change(({ status }) => status),
  security: change(({ event }) => event),
  message_template_components_update: change(() => undefined),
  flows: change(({ event }) => event),
  user_preferences: change(({ value }) => value),
  user_id_update: change(() => undefined),
  smb_app_state_sync: change(() => undefined),
  smb_message_echoes: change(() => undefined),
  history: change(() => undefined),
  calls: change(() => undefined),
};

/** These tell of people, or of what they say: not for everybody who has a number of the business. */
export const IN_CONFIDENCE = [
  "messages",
  "user_preferences",
  "user_id_update",
  "smb_app_state_sync",
  "smb_message_echoes",
  "history",
  "calls",
];

function template(type: Finding["type"], tell: (value: Fields) => Fields | undefined): Reader {
  return (given) => {
    const value = asObject(given);
    const [id, told] = [textOf(value.message_template_id), tell(value)];
    if (id === undefined || told === undefined) return "unknown";
    const data = present({
      hsm_id: id,
      name: textOf(value.message_template_name ?? value.name),
      language: textOf(value.message_template_language ?? value.language)?.replace("-", "_"),
      ...told,
    });
    return { type, data };
  };
}

/** A notice of which one value tells most; all of it stands in the raw part. */
function change(after: (value: Fields) => unknown): Reader {
  return (given, { field, asset }) => {
    const value = asObject(given);
    const data = { change: field, ...present({ after: textOf(after(value)) }) };
    return { type: "channel.updated", data, asset: ofNumber(asset, value) };
  };
}

/** Some tell of one number of the business, by how people write it. */
function ofNumber(asset: Asset, { display_phone_number }: Fields): Asset {
  const displayNumber = textOf(display_phone_number);
  return displayNumber === undefined ? asset : { ...asset, displayNumber, inConfidence: true };
}

/** These cut the service off from the business. */
const ENDINGS = ["PARTNER_REMOVED", "PARTNER_APP_UNINSTALLED", "ACCOUNT_DELETED"];

function readAccountUpdate(given: unknown, { field, asset }: Parameters<Reader>[1]): Finding {
  const value = asObject(given);
  const event = textOf(value.event);
  return {
    type: "channel.updated",
    data: { change: field, ...present({ after: event }) },
    // The envelope of a notice about a partner may name another business than the one that it is about.
    asset: { ...asset, id: textOf(asObject(value.waba_info).waba_id) ?? asset.id },
    ends: event !== undefined && ENDINGS.includes(event),
  };
}
