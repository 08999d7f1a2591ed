/** How a recipient on the chat platform is named: by phone number, or by an id that only this business sees. */
export type RecipientKind = "phone" | "business_scoped";

const PHONE = /^[1-9]\d{6,14}$/;

/** Two letters of the person's country, whichever it is; `ENT` where a parent business shares the id. */
const BUSINESS_SCOPED = /^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}$/;

/** Undefined for what is neither. A business-scoped id is never treated as a phone number. */
export function recipientKind(to: string): RecipientKind | undefined {
  if (PHONE.test(to)) return "phone";
  return BUSINESS_SCOPED.test(to) ? "business_scoped" : undefined;
}
