import type { Platform, RecipientKind } from "../schema/enumerations.ts";

const PHONE = /^[1-9]\d{6,14}$/;

/** The person's country code, then an id; `ENT` marks an id shared across a parent business. */
const BUSINESS_SCOPED = /^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}$/;

export const isBusinessScopedId = (id: string): boolean => BUSINESS_SCOPED.test(id);

/** A person's id, valid for one page or photo account. */
const SCOPED_ID = /^\d{1,32}$/;

/** Undefined when `to` is not a valid recipient on the platform. */
export function recipientKind(to: string, platform: Platform): RecipientKind | undefined {
  if (platform !== "chatapp") return SCOPED_ID.test(to) ? "scoped_id" : undefined;
  if (PHONE.test(to)) return "phone";
  // A business-scoped id is never treated as a phone number.
  return isBusinessScopedId(to) ? "business_scoped" : undefined;
}
