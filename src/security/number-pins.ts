import { randomInt } from "node:crypto";
import { type SecretBox, SecretBoxError, sealedContext } from "./secret-box.ts";

const PIN_DIGITS = 6;

/** A random two-step PIN for a phone number. */
export const generatePin = (): string => String(randomInt(10 ** PIN_DIGITS)).padStart(PIN_DIGITS, "0");

const contextOf = (phoneNumberId: string) =>
  sealedContext({ table: "number_pins", column: "pin_sealed", id: phoneNumberId });

/** Seals a phone number's PIN for storage. */
export const sealPin = (box: SecretBox, phoneNumberId: string, pin: string): string =>
  box.seal(pin, contextOf(phoneNumberId));

/** Undefined when no encryption key opens it: the person can then enter the PIN. */
export function openPin(box: SecretBox, phoneNumberId: string, sealed: string): string | undefined {
  try {
    return box.open(sealed, contextOf(phoneNumberId));
  } catch (error) {
    if (error instanceof SecretBoxError) return undefined;
    throw error;
  }
}
