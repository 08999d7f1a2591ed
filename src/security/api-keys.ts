import { hash, timingSafeEqual } from "node:crypto";
import { newId } from "../runtime/ids.ts";
import { randomText } from "./secret-text.ts";

/** A new API key. Its text is shown once and cannot be recovered from the stored fields. */
export interface IssuedApiKey {
  id: string;
  text: string;
  /** `svc_live_` (or `svc_test_`) and the first 6 characters of the id, shown in lists. */
  prefix: string;
  last4: string;
  secretHash: Buffer;
}

const SECRET_LENGTH = 43;
const PREFIX_LENGTH = "svc_live_".length + 6;
const API_KEY_PATTERN = /^svc_(?:live|test)_([0-9a-hjkmnp-tv-z]{26})_([0-9A-Za-z]{43})$/;

/** Creates `svc_live_<26 characters>_<43 characters>`: the first group finds the row, the second is the secret. */
export function issueApiKey({ production }: { production: boolean }): IssuedApiKey {
  const id = newId("key");
  const secret = randomText(SECRET_LENGTH);
  const text = `svc_${production ? "live" : "test"}_${id.slice("key_".length)}_${secret}`;
  return {
    id,
    text,
    prefix: text.slice(0, PREFIX_LENGTH),
    last4: secret.slice(-4),
    secretHash: digest(secret),
  };
}

/** True for a key that was created outside production. */
export const isTestKey = ({ prefix }: Pick<IssuedApiKey, "prefix">): boolean =>
  prefix.startsWith("svc_test_");

/** Tells an API key, valid or not, from a user token. */
export const isApiKeyText = (credential: string): boolean => credential.startsWith("svc_");

export interface PresentedApiKey {
  id: string;
  prefix: string;
  secret: string;
}

export function parseApiKey(text: string): PresentedApiKey | undefined {
  const [, idPart, secret] = API_KEY_PATTERN.exec(text) ?? [];
  return idPart && secret ? { id: `key_${idPart}`, prefix: text.slice(0, PREFIX_LENGTH), secret } : undefined;
}

/** Compares in constant time. A fast hash is sufficient because the secret is random and cannot be guessed. */
export const isMatchingSecret = (secret: string, secretHash: Buffer): boolean =>
  timingSafeEqual(digest(secret), secretHash);

const digest = (secret: string) => hash("sha256", secret, "buffer");
