import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { EncryptionKey } from "../runtime/setting-kinds.ts";

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
  const mac = (key: Buffer, message: string) => createHmac("sha256", key).update(message).digest();
  return {
    sign: (message) => mac(derived[0] as Buffer, message).toString("base64url"),
    verify(message, signature) {
      const given = Buffer.from(signature, "base64url");
      return derived.some((key) => {
        const expected = mac(key, message);
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
    },
  };
}
