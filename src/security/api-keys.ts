import { createHash, timingSafeEqual } from "node:crypto";
import { newId } from "../runtime/ids.ts";
import { randomText } from "./random-text.ts";

/** A new key. Its text is shown once; what is kept does not lead back to it. */
export interface IssuedApiKey {
  id: string;
  text: string;
  /** The part that may be shown: enough to find the key again. */
  prefix: string;
  last4: string;
  secretHash: Buffer;
}

const SECRET_LENGTH = 43;
const FORM = /^(svc_(?:live|test)_([0-9a-hjkmnp-tv-z]{26}))_([0-9A-Za-z]{43})$/;

/** `svc_live_<26 characters>_<43 characters>`: the first group finds the row, the second proves the holder. */
export function issueApiKey({ production }: { production: boolean }): IssuedApiKey {
  const id = newId("key");
  const prefix = `svc_${production ? "live" : "test"}_${id.slice("key_".length)}`;
  const secret = randomText(SECRET_LENGTH);
  return {
    id,
    text: `${prefix}_${secret}`,
    prefix,
    last4: secret.slice(-4),
    secretHash: digest(secret),
  };
}

export interface PresentedApiKey {
  id: string;
  prefix: string;
  secret: string;
}

export function parseApiKey(text: string): PresentedApiKey | undefined {
  const [, prefix, time, secret] = FORM.exec(text) ?? [];
  return prefix && time && secret ? { id: `key_${time}`, prefix, secret } : undefined;
}

/** Compared in constant time. A fast hash is enough: the secret is random, there is nothing to guess by words. */
export const isSecretOf = (secret: string, secretHash: Buffer): boolean =>
  timingSafeEqual(digest(secret), secretHash);

const digest = (secret: string) => createHash("sha256").update(secret).digest();
