import { invalidParameter } from "../wire/graph-error.ts";
import type { Params } from "../wire/params.ts";

/** Every message, upload and registration says which product it is for. */
export function checkProduct(params: Params): void {
  if (params.requiredText("messaging_product") !== "whatsapp")
    throw invalidParameter("Param messaging_product must be one of {WHATSAPP}");
}
