import type { Platform } from "../../../schema/enumerations.ts";
import type { PrefilledField } from "./prefilled.ts";
import type { CallbackTexts, PageTexts } from "./texts/shape.ts";

/** What the signup page's script knows about its session. */
export interface PageData {
  token: string;
  session_id: string;
  external_ref: string | null;
  allowed_origins: readonly string[];
  platforms: readonly Platform[];
  prefilled: readonly PrefilledField[];
  texts: PageTexts;
}

/** What the script of the popup knows. */
export interface CallbackData {
  texts: CallbackTexts;
}
