import { createHash } from "node:crypto";
import { invalidParameter } from "../../wire/graph-error.ts";
import type { Params } from "../../wire/params.ts";
import { chatError } from "../chat-error.ts";

/** Somebody to write to, or who wrote. */
export interface Person {
  /** As it was given. */
  input: string;
  /** The number as the platform knows it; withheld for one who is known by the scoped id only. */
  waId?: string;
  /** The business-scoped id, which everybody has. */
  userId: string;
}

const PHONE = /^\+?([1-9]\d{6,14})$/;
const SCOPED_ID = /^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}$/;

/** `to` is a number, `recipient` a scoped id; when both are there `to` wins. */
export function readRecipient(params: Params): Person {
  const [to, recipient] = [params.text("to"), params.text("recipient")];
  if (to !== undefined) return personByPhone(to) ?? rejectRecipient("to");
  if (recipient === undefined) throw invalidParameter("The parameter to is required.");
  return personByScopedId(recipient) ?? rejectRecipient("recipient");
}

function rejectRecipient(name: string): never {
  throw chatError(131009, `Param ${name} is not a recipient`);
}

/** The person with this number; the number is known as `normalize` says. */
export function personByPhone(input: string, normalize = withoutExtraDigit): Person | undefined {
  const digits = PHONE.exec(input)?.[1];
  if (digits === undefined) return undefined;
  return { input, waId: normalize(digits), userId: scopedIdOf(withoutExtraDigit(digits)) };
}

export const personByScopedId = (input: string): Person | undefined =>
  SCOPED_ID.test(input) ? { input, userId: input } : undefined;

/** Brazilian mobile numbers got a ninth digit; many accounts are older and are known without it. */
function withoutExtraDigit(digits: string): string {
  return digits.replace(/^(55\d\d)9(\d{8})$/, "$1$2");
}

/** The same for the same number, always. */
function scopedIdOf(waId: string): string {
  const country = waId.startsWith("55") ? "BR" : "US";
  const hash = createHash("sha256").update(waId).digest();
  return `${country}.${hash.readBigUInt64BE()}`;
}

/** How a webhook names the person. Who withholds the number has a name of another kind. */
export const contactOf = ({ waId, userId }: Person) => ({
  profile: { name: "Sandbox Person", ...(waId === undefined ? { username: "sandbox.person" } : {}) },
  ...(waId === undefined ? {} : { wa_id: waId }),
  user_id: userId,
});
