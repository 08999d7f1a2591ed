import type { PhoneNumber } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import { checkFields, project } from "../wire/fields.ts";
import { managementEdge, messagingEdge } from "./edges.ts";
import { uploadMedia } from "./media/upload-media.ts";
import { sendMessage } from "./messages/send-message.ts";
import { isPhoneNumberId, reachesNumber, senderOf } from "./numbers.ts";
import { deregister, isRegistered, register } from "./registration.ts";

/** A phone number that sends and receives. */
export const phoneNumberKind = (context: SandboxContext): NodeKind => ({
  name: "phone number",
  owns: isPhoneNumberId,
  reaches: reachesNumber,
  asset: (node) => senderOf(node).waba.id,
  edges: {
    GET: managementEdge(({ node, params }) => {
      const fields = params.words("fields");
      checkNumberFields(fields);
      return project(toNumberNode(context, senderOf(node).number), fields, DEFAULT_NUMBER_FIELDS);
    }),
    "POST register": managementEdge((call) => register(context, call)),
    "POST deregister": managementEdge((call) => deregister(context, call)),
    "POST messages": messagingEdge((call) => sendMessage(context, call)),
    "POST media": messagingEdge((call) => uploadMedia(context, call)),
  },
});

export const DEFAULT_NUMBER_FIELDS = [
  "verified_name",
  "code_verification_status",
  "display_phone_number",
  "quality_rating",
  "platform_type",
  "throughput",
  "id",
];

const NUMBER_FIELDS = [
  ...DEFAULT_NUMBER_FIELDS,
  "name_status",
  "whatsapp_business_manager_messaging_limit",
  "status",
];

export const checkNumberFields = (fields: readonly string[] | undefined): void =>
  checkFields(fields, "WhatsAppBusinessPhoneNumber", NUMBER_FIELDS);

export function toNumberNode(context: SandboxContext, number: PhoneNumber): Record<string, unknown> {
  const { id, display_phone_number, verified_name, code_verification_status } = number;
  const registered = isRegistered(context, id);
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
