import { toTemplateStatus } from "../chat/template-status.ts";
import { asObject, omitNullish, textOf } from "../client/json-values.ts";
import type { Asset, Reader, UpdateContent } from "./reading.ts";

type Fields = Record<string, unknown>;

/** Readers for webhooks about templates, numbers and the business, by field name. */
export const NOTICES: Readonly<Record<string, Reader>> = {
  message_template_status_update: templateReader("template.status_updated", ({ event, reason }) => {
    const word = textOf(event);
    if (word === undefined) return undefined;
    return { status: toTemplateStatus(word), platform_status: word, reason: textOf(reason) };
  }),
  message_template_quality_update: templateReader("template.quality_updated", (value) => ({
    before: textOf(value.previous_quality_score),
    after: textOf(value.new_quality_score),
  })),
  template_category_update: templateReader("template.category_updated", (value) => ({
    before: textOf(value.previous_category),
    after: textOf(value.new_category),
  })),
  account_update: readAccountUpdate,
  account_review_update: changeReader(({ decision }) => decision),
  account_alerts: changeReader(({ alert_info }) => asObject(alert_info).alert_type),
  business_capability_update: changeReader(({ max_daily_conversations_per_business: limit }) => limit),
  phone_number_name_update: changeReader(({ decision }) => decision),
  phone_number_quality_update: changeReader(({ event }) => event),
  business_username_updates: changeReader(({ status }) => status),
  security: changeReader(({ event }) => event),
  message_template_components_update: changeReader(() => undefined),
  flows: changeReader(({ event }) => event),
  user_preferences: changeReader(({ value }) => value),
  user_id_update: changeReader(() => undefined),
  smb_app_state_sync: changeReader(() => undefined),
  smb_message_echoes: changeReader(() => undefined),
  history: changeReader(() => undefined),
  calls: changeReader(() => undefined),
};

/** Fields with personal data: not delivered to every client that has a number of the business. */
export const PERSONAL_FIELDS = [
  "messages",
  "user_preferences",
  "user_id_update",
  "smb_app_state_sync",
  "smb_message_echoes",
  "history",
  "calls",
];

function templateReader(
  type: UpdateContent["type"],
  toDetails: (value: Fields) => Fields | undefined,
): Reader {
  return (rawValue) => {
    const value = asObject(rawValue);
    const [id, details] = [textOf(value.message_template_id), toDetails(value)];
    if (id === undefined || details === undefined) return "unknown";
    const data = omitNullish({
      hsm_id: id,
      name: textOf(value.message_template_name ?? value.name),
      language: textOf(value.message_template_language ?? value.language)?.replace("-", "_"),
      ...details,
    });
    return { type, data };
  };
}

/** Reads a change whose main value becomes `after`; the raw part has the full content. */
function changeReader(after: (value: Fields) => unknown): Reader {
  return (rawValue, { field, asset }) => {
    const value = asObject(rawValue);
    const data = { change: field, ...omitNullish({ after: textOf(after(value)) }) };
    return { type: "channel.updated", data, asset: withDisplayNumber(asset, value) };
  };
}

/** Some webhooks of a business concern one number, given only in display format. */
function withDisplayNumber(asset: Asset, { display_phone_number }: Fields): Asset {
  const displayNumber = textOf(display_phone_number);
  return displayNumber === undefined ? asset : { ...asset, displayNumber, requiresSingleOwner: true };
}

/** Events after which Herald has no access to the business. */
const DISCONNECT_EVENTS = ["PARTNER_REMOVED", "PARTNER_APP_UNINSTALLED", "ACCOUNT_DELETED"];

function readAccountUpdate(rawValue: unknown, { field, asset }: Parameters<Reader>[1]): UpdateContent {
  const value = asObject(rawValue);
  const event = textOf(value.event);
  return {
    type: "channel.updated",
    data: { change: field, ...omitNullish({ after: event }) },
    // A webhook about a partner may name a different business in its envelope.
    asset: { ...asset, id: textOf(asObject(value.waba_info).waba_id) ?? asset.id },
    endsConnection: event !== undefined && DISCONNECT_EVENTS.includes(event),
  };
}
