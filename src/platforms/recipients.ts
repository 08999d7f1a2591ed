import type { Platform, RecipientKind } from "../schema/enumerations.ts";

const PHONE = /^[1-9]\d{6,14}$/;

/** Two letters of the person's country, whichever it is; `ENT` where a parent business shares the id. */
const BUSINESS_SCOPED = /^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}$/;

/** Of the person at one page or photo account. */
const SCOPED_ID = /^\d{1,32}$/;

/** How the platform's people are named. Undefined for what names nobody there. */
export function recipientKind(to: string, platform: Platform): RecipientKind | undefined {
  if (platform !== "chatapp") return SCOPED_ID.test(to) ? "scoped_id" : undefined;
  if (PHONE.test(to)) return "phone";
  // Never treated as a phone number.
  return BUSINESS_SCOPED.test(to) ? "business_scoped" : undefined;
}
