import type { PhoneNumber } from "../built-in-assets.ts";
import type { Ground } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import { checkFields, project } from "../wire/fields.ts";
import { uploadMedia } from "./media/upload-media.ts";
import { sendMessage } from "./messages/send-message.ts";
import { isNumber, reachesNumber, senderOf } from "./numbers.ts";
import { deregister, isRegistered, register } from "./registration.ts";
import { managing, messaging } from "./scopes.ts";

/** A number that sends and receives. */
export const phoneNumberKind = (ground: Ground): NodeKind => ({
  name: "phone number",
  owns: isNumber,
  reaches: reachesNumber,
  asset: (node) => senderOf(node).waba.id,
  edges: {
    GET: managing(({ node, params }) => {
      const fields = params.words("fields");
      checkNumberFields(fields);
      return project(numberView(ground, senderOf(node).number), fields, NUMBER_DEFAULTS);
    }),
    "POST register": managing((call) => register(ground, call)),
    "POST deregister": managing((call) => deregister(ground, call)),
    "POST messages": messaging((call) => sendMessage(ground, call)),
    "POST media": messaging((call) => uploadMedia(ground, call)),
  },
});

export const NUMBER_DEFAULTS = [
  "verified_name",
  "code_verification_status",
  "display_phone_number",
  "quality_rating",
  "platform_type",
  "throughput",
  "id",
];

const NUMBER_FIELDS = [
  ...NUMBER_DEFAULTS,
  "name_status",
  "whatsapp_business_manager_messaging_limit",
  "status",
];

export const checkNumberFields = (fields: readonly string[] | undefined): void =>
  checkFields(fields, "WhatsAppBusinessPhoneNumber", NUMBER_FIELDS);

export function numberView(ground: Ground, number: PhoneNumber): Record<string, unknown> {
  const { id, display_phone_number, verified_name, code_verification_status } = number;
  const registered = isRegistered(ground, id);
  return {
    id,
    display_phone_number,
    verified_name,
    code_verification_status,
    quality_rating: registered ? "GREEN" : "UNKNOWN",
    name_status: "APPROVED",
    throughput: { level: registered ? "STANDARD" : "NOT_APPLICABLE" },
    whatsapp_business_manager_messaging_limit: "TIER_2K",
    platform_type: registered ? "CLOUD_API" : "NOT_APPLICABLE",
    status: registered ? "CONNECTED" : "PENDING",
  };
}
