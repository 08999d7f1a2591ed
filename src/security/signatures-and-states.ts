import { createHmac, hkdfSync } from "node:crypto";
import type { EncryptionKey } from "../runtime/config/setting-kinds.ts";
import { withoutTrailing } from "../runtime/http/addresses.ts";
import { parseJson } from "../runtime/json/json.ts";
import { isSameText, randomText } from "./secret-text.ts";

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

/** Verifies what a platform signs with the secret of Herald's app. */
export interface AppSignatures {
  /** True when the header can be a signature: a body need not be read for any other. */
  isSignature(header: string | undefined): boolean;
  /** True when the signature header matches the body. */
  isSigned(body: Buffer, header: string | undefined): boolean;
  /** Returns the content of a signed request; undefined when it is malformed or its signature is invalid. */
  parseSignedRequest(text: string): Record<string, unknown> | undefined;
}

export function createAppSignatures(secret: string): AppSignatures {
  const mac = (content: Buffer | string, encoding: "hex" | "base64url") =>
    createHmac("sha256", secret).update(content).digest(encoding);
  return {
    isSignature: (header) => header !== undefined && /^sha256=[0-9a-f]{64}$/.test(header),
    isSigned: (body, header) => header !== undefined && isSameText(header, `sha256=${mac(body, "hex")}`),
    parseSignedRequest(text) {
      const [signature = "", content = "", ...rest] = text.split(".");
      if (rest.length > 0 || !isSameText(withoutTrailing(signature, "="), mac(content, "base64url")))
        return undefined;
      return parseObject(Buffer.from(content, "base64url").toString());
    },
  };
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(json); // ids may be integers that JSON.parse would round
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

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

/** A try of an embedded signup session. */
export interface EmbedTry {
  sessionId: string;
  tryId: string;
}

/** States of signup dialogs: they name a try, which the signature binds. The try itself can use its state only once. */
export interface EmbedStates {
  issue(of: EmbedTry, ttlMs: number): string;
  /** Undefined for a state that was not issued here or has expired. */
  read(text: string): EmbedTry | undefined;
}

/** States have the form `session.try.signed state`. */
export function createEmbedStates(states: SignedStates): EmbedStates {
  return {
    issue: ({ sessionId, tryId }, ttlMs) =>
      `${sessionId}.${tryId}.${states.issue([sessionId, tryId], ttlMs).text}`,
    read(text) {
      const [sessionId = "", tryId = "", ...signed] = text.split(".");
      const { outcome } = states.read(signed.join("."), [sessionId, tryId]);
      return outcome === "valid" ? { sessionId, tryId } : undefined;
    },
  };
}
