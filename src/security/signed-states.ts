import type { Signer } from "./derived-keys.ts";
import { randomText } from "./random-text.ts";

/** A state that passes through a user's browser: signed, bound to texts, limited in time, single-use. */
export interface SignedState {
  /** The key under which a used state is recorded. */
  id: string;
  expiresAt: Date;
}

export interface SignedStates {
  /** Creates a state bound to these texts; the state does not contain them. */
  issue(bindings: readonly string[], ttlMs: number): { text: string; expiresAt: Date };
  /** Verifies the signature, the bindings and the expiry. The caller checks that the state is unused. */
  read(
    text: string,
    bindings: readonly string[],
  ): ({ outcome: "valid" } & SignedState) | { outcome: "invalid" | "expired" };
}

const NONCE_LENGTH = 24;

/** States have the form `nonce.expiry.signature`. */
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
