import type { Signer } from "./derived-keys.ts";
import { randomText } from "./random-text.ts";

/** What travels through somebody's browser and comes back: bound to its purpose, for a while, to be used once. */
export interface SignedState {
  /** Names it where used ones are kept. */
  id: string;
  expiresAt: Date;
}

export interface SignedStates {
  /** A new state, bound to these texts, which are not in it. */
  issue(bindings: readonly string[], ttlMs: number): { text: string; expiresAt: Date };
  /** What is ours and bound to these texts. Whether it was used before is for the caller to find out. */
  read(
    text: string,
    bindings: readonly string[],
  ): ({ outcome: "valid" } & SignedState) | { outcome: "invalid" | "expired" };
}

const NONCE_LENGTH = 24;

/** `nonce.expiry.signature`. */
export function createSignedStates(signer: Signer): SignedStates {
  const message = (nonce: string, expiry: string, bindings: readonly string[]) =>
    JSON.stringify([nonce, expiry, ...bindings]);
  return {
    issue(bindings, ttlMs) {
      const expiresAt = new Date(Date.now() + ttlMs);
      const [nonce, expiry] = [randomText(NONCE_LENGTH), expiresAt.getTime().toString(36)];
      return { text: `${nonce}.${expiry}.${signer.sign(message(nonce, expiry, bindings))}`, expiresAt };
    },
    read(text, bindings) {
      const [nonce = "", expiry = "", signature = "", ...rest] = text.split(".");
      if (rest.length > 0 || !signer.verify(message(nonce, expiry, bindings), signature))
        return { outcome: "invalid" };
      const expiresAt = new Date(Number.parseInt(expiry, 36));
      return expiresAt.getTime() > Date.now()
        ? { outcome: "valid", id: nonce, expiresAt }
        : { outcome: "expired" };
    },
  };
}
