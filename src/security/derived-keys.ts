import { createHmac, hkdfSync } from "node:crypto";
import type { EncryptionKey } from "../runtime/config/setting-kinds.ts";
import { isSameText } from "./same-text.ts";

/** What a derived key may sign. One purpose never accepts another's signature. */
export type Purpose = "cursor" | "oauth-state" | "embed-state";

export interface Signer {
  sign(message: string): string;
  /** True for a signature by any of the keys, so that what was signed before a rotation still holds. */
  verify(message: string, signature: string): boolean;
}

/** HMAC-SHA256 by keys derived (HKDF) from the encryption keys: one setting to keep secret instead of several. */
export function createSigner(keys: readonly EncryptionKey[], purpose: Purpose): Signer {
  const derived = keys.map((key) => Buffer.from(hkdfSync("sha256", key.bytes, "", `herald:${purpose}`, 32)));
  const mac = (key: Buffer, message: string) => createHmac("sha256", key).update(message).digest("base64url");
  return {
    sign: (message) => mac(derived[0] as Buffer, message),
    // As texts: a decoder would take several spellings of the same signature.
    verify: (message, signature) => derived.some((key) => isSameText(signature, mac(key, message))),
  };
}
