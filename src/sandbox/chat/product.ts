import { invalidParameter } from "../wire/graph-error.ts";
import type { Params } from "../wire/params.ts";

/** Every message, upload and registration must name the product. */
export function checkProduct(params: Params): void {
  if (params.requiredText("messaging_product") !== "whatsapp")
    throw invalidParameter("Param messaging_product must be one of {WHATSAPP}");
}
