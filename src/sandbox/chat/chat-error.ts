import { GraphError, invalidParameter } from "../graph/graph-error.ts";
import type { Params } from "../graph/params.ts";

/** Error titles of the chat platform, and their HTTP status when it is not 400. */
const REFUSALS = {
  130429: { title: "Rate limit hit" },
  131000: { title: "Something went wrong", status: 500 },
  131008: { title: "Required parameter is missing" },
  131009: { title: "Parameter value is not valid" },
  131021: { title: "Recipient cannot be sender" },
  131026: { title: "Message undeliverable" },
  131047: { title: "Re-engagement message" },
  131049: { title: "This message was not delivered to maintain healthy ecosystem engagement." },
  131051: { title: "Unsupported message type" },
  131053: { title: "Media upload error" },
  131056: { title: "(Business Account, Consumer Account) pair rate limit hit" },
  131062: {
    title: "Business-scoped User ID (BSUID) recipients are not supported for this message.",
  },
  132000: { title: "Number of parameters does not match the expected number of params" },
  132001: { title: "Template name does not exist in the translation", status: 404 },
  132012: { title: "Parameter format does not match format in the created template" },
  132015: { title: "Template is paused" },
  133005: { title: "Two step verification PIN Mismatch" },
  133006: { title: "Phone number re-verification needed" },
  133010: { title: "Account not registered" },
  133016: { title: "Account register deregister rate limit exceeded" },
} as const satisfies Record<number, { title: string; status?: number }>;

export type ChatErrorCode = keyof typeof REFUSALS;

/** An immediate error: the title is the message, and `details` describes this case. */
export function chatError(code: ChatErrorCode, details: string): GraphError {
  const { title, status = 400 }: { title: string; status?: number } = REFUSALS[code];
  return new GraphError(code, `(#${code}) ${title}`, {
    status,
    data: { messaging_product: "whatsapp", details },
  });
}

/** The same error in the format of a status webhook. */
export function toWebhookError(code: ChatErrorCode, details: string): unknown {
  const { title } = REFUSALS[code];
  return {
    code,
    title,
    message: title,
    error_data: { details },
    href: "https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/",
  };
}

/** Every message, upload and registration must name the product. */
export function checkProduct(params: Params): void {
  if (params.requiredText("messaging_product") !== "whatsapp")
    throw invalidParameter("Param messaging_product must be one of {WHATSAPP}");
}
