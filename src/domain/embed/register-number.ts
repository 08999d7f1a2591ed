import type { ChatNumber } from "../../platforms/chat/access.ts";
import type { ChatNumbers } from "../../platforms/chat/numbers.ts";
import { PlatformFailure } from "../../platforms/errors/failure.ts";
import { generatePin, openPin, sealPin } from "../../security/number-pins.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import type { Database } from "../../store/database/database.ts";
import { deletePin, reservePin, savePin } from "../../store/embed/number-pins.ts";

/** The platform's code for a number whose two-step PIN is another one. */
const WRONG_PIN_CODE = 133_005;

interface Parts {
  db: Database;
  secretBox: SecretBox;
  numbers: Pick<ChatNumbers, "register">;
}

export type Registration = { outcome: "registered"; pin: string } | { outcome: "wrong_pin" };

/**
 * Registers the number with the given PIN, else with the stored one, else with a random one. The PIN is stored before the
 * call, because the call may succeed without an answer; a PIN that the platform refuses is deleted.
 */
export async function registerNumber(
  { db, secretBox, numbers }: Parts,
  { clientId, number, pin }: { clientId: string; number: ChatNumber; pin: string | undefined },
): Promise<Registration> {
  const stored = await storePin({ db, secretBox }, { clientId, number, pin });
  try {
    await numbers.register(number, stored.pin);
    return { outcome: "registered", pin: stored.pin };
  } catch (error) {
    if (!isWrongPin(error)) throw error;
    await deletePin(db, { phoneNumberId: number.phoneNumberId, pinSealed: stored.pinSealed });
    return { outcome: "wrong_pin" };
  }
}

const isWrongPin = (error: unknown) =>
  error instanceof PlatformFailure && error.platformError?.code === WRONG_PIN_CODE;

interface StoredPin {
  pin: string;
  pinSealed: string;
}

async function storePin(
  { db, secretBox }: Omit<Parts, "numbers">,
  { clientId, number, pin }: { clientId: string; number: ChatNumber; pin: string | undefined },
): Promise<StoredPin> {
  const { phoneNumberId } = number;
  const proposed = pin ?? generatePin();
  const pinSealed = sealPin(secretBox, phoneNumberId, proposed);
  if (pin === undefined) {
    const reserved = await reservePin(db, clientId, { phoneNumberId, pinSealed });
    const known = openPin(secretBox, phoneNumberId, reserved);
    if (known !== undefined) return { pin: known, pinSealed: reserved };
  }
  await savePin(db, clientId, { phoneNumberId, pinSealed });
  return { pin: proposed, pinSealed };
}
