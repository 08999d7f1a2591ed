import { type PhoneNumber, WABAS, type Waba } from "../built-in-assets.ts";
import type { Grant } from "../login/tokens.ts";

/** A number and its business account. */
export interface Sender {
  waba: Waba;
  number: PhoneNumber;
}

const SENDERS: ReadonlyMap<string, Sender> = new Map(
  WABAS.flatMap((waba) => waba.numbers.map((number) => [number.id, { waba, number }] as const)),
);

export const isPhoneNumberId = (id: string): boolean => SENDERS.has(id);

/** Throws for an unknown id; callers pass nodes that the graph has already matched. */
export function senderOf(id: string): Sender {
  const sender = SENDERS.get(id);
  if (!sender) throw new Error(`no number has the id ${id}`);
  return sender;
}

export const isWaba = (id: string): boolean => WABAS.some((waba) => waba.id === id);

/** Throws for an unknown id; callers pass nodes that the graph has already matched. */
export function wabaOf(id: string): Waba {
  const waba = WABAS.find((candidate) => candidate.id === id);
  if (!waba) throw new Error(`no business account has the id ${id}`);
  return waba;
}

export const reachesNumber = (grant: Grant, id: string): boolean =>
  grant.assets.includes(senderOf(id).waba.id);

export const digitsOf = ({ display_phone_number }: PhoneNumber): string =>
  display_phone_number.replaceAll(/\D/g, "");

/** The fields that identify the number in a webhook. */
export const metadataOf = ({ number }: Sender) => ({
  display_phone_number: digitsOf(number),
  phone_number_id: number.id,
});
