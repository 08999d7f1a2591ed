import { templateStatus } from "../chat/template-status.ts";
import { asObject, present, textOf } from "../client/shapes.ts";
import type { Asset, Finding, Reader } from "./reading.ts";

type Fields = Record<string, unknown>;

/** What the platform tells about templates, numbers and the business itself, by the name of the field. */
export const NOTICES: Readonly<Record<string, Reader>> = {
  message_template_status_update: template("template.status_updated", (value) => {
    const word = textOf(value.event) ?? "";
    return { status: templateStatus(word), platform_status: word, reason: textOf(value.reason) };
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
};

function template(type: Finding["type"], tell: (value: Fields) => Fields): Reader {
  return (given) => {
    const value = asObject(given);
    const id = textOf(value.message_template_id);
    if (id === undefined) return "unknown";
    const data = present({
      hsm_id: id,
      name: textOf(value.message_template_name ?? value.name),
      language: textOf(value.message_template_language ?? value.language)?.replace("-", "_"),
      ...tell(value),
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
const ofNumber = (asset: Asset, { display_phone_number }: Fields): Asset => ({
  ...asset,
  displayNumber: textOf(display_phone_number),
});

/** These cut the service off from the business. */
const ENDINGS = ["PARTNER_REMOVED", "PARTNER_APP_UNINSTALLED", "ACCOUNT_DELETED"];

function readAccountUpdate(given: unknown, { field, asset }: Parameters<Reader>[1]): Finding {
  const value = asObject(given);
  const event = textOf(value.event);
  // The envelope of a notice about a partner may name another business than the one that it is about.
  const id = textOf(asObject(value.waba_info).waba_id) ?? asset.id;
  const about = { asset: { ...asset, id } };
  if (event !== undefined && ENDINGS.includes(event))
    return { type: "channel.disconnected", data: { reason: "platform" }, ends: true, ...about };
  return { type: "channel.updated", data: { change: field, ...present({ after: event }) }, ...about };
}
