import { createHmac, hkdfSync } from "node:crypto";
import type { EncryptionKey } from "../runtime/config/setting-kinds.ts";
import { isSameText } from "./same-text.ts";

/** Uses of derived keys. A signature for one purpose is never valid for another. */
export type Purpose = "cursor" | "oauth-state" | "embed-state";

export interface Signer {
  sign(message: string): string;
  /** True for a signature by any of the keys, so that signatures stay valid after a key rotation. */
  verify(message: string, signature: string): boolean;
}

/** Signs with HMAC-SHA256 and keys derived (HKDF) from the encryption keys, so that only one setting is secret. */
export function createSigner(keys: readonly EncryptionKey[], purpose: Purpose): Signer {
  const derived = keys.map((key) => Buffer.from(hkdfSync("sha256", key.bytes, "", `herald:${purpose}`, 32)));
  const mac = (key: Buffer, message: string) => createHmac("sha256", key).update(message).digest("base64url");
  return {
    sign: (message) => mac(derived[0] as Buffer, message),
    // Compared as texts, because a base64 decoder accepts several spellings of the same signature.
    verify: (message, signature) => derived.some((key) => isSameText(signature, mac(key, message))),
  };
}
