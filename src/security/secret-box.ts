import { createCipheriv, createDecipheriv, randomFillSync } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { EncryptionKey } from "../runtime/config/setting-kinds.ts";
import { SECOND } from "../runtime/durations.ts";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts stored secrets with AES-256-GCM. A sealed text is `keyId.base64url(nonce, ciphertext, tag)`; the context
 * (table, column, id) is authenticated, so that a secret cannot be moved to another row.
 */
export interface SecretBox {
  seal(secret: string, context: string): string;
  open(sealed: string, context: string): string;
  /** The id of the key that seals. `herald secrets rotate` reseals the secrets of other keys. */
  keyId: string;
}

/** Builds the context of a stored secret. Column names must end in `_sealed`: a key rotation finds them by that. */
export const sealedContext = ({ table, column, id }: { table: string; column: string; id: string }): string =>
  `${table}.${column}:${id}`;

/** A sealed text cannot be opened: unknown key id, other context, or changed text. Never contains the content. */
export class SecretBoxError extends Error {
  override name = "SecretBoxError";
}

/** Takes nonces from a block of random bytes: a system call for each would take longer than the sealing. */
function createNonces(): () => Buffer {
  const block = Buffer.alloc(NONCE_BYTES * 64);
  let used = block.length;
  return () => {
    if (used === block.length) {
      randomFillSync(block);
      used = 0;
    }
    used += NONCE_BYTES;
    return block.subarray(used - NONCE_BYTES, used);
  };
}

export function createSecretBox(keys: readonly EncryptionKey[]): SecretBox {
  const current = keys[0] as EncryptionKey;
  const nextNonce = createNonces();
  const byId = new Map(keys.map((key) => [key.id, key.bytes]));
  return {
    keyId: current.id,
    seal(secret, context) {
      const nonce = nextNonce();
      const cipher = createCipheriv("aes-256-gcm", current.bytes, nonce).setAAD(Buffer.from(context));
      const parts = [nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()];
      return `${current.id}.${Buffer.concat(parts).toString("base64url")}`;
    },
    open(sealed, context) {
      const keyId = sealed.slice(0, Math.max(0, sealed.indexOf(".")));
      const key = byId.get(keyId);
      if (!key) throw new SecretBoxError(`no encryption key with id "${keyId}"`);
      return decrypt(key, Buffer.from(sealed.slice(keyId.length + 1), "base64url"), context);
    },
  };
}

function decrypt(key: Buffer, bytes: Buffer, context: string): string {
  if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new SecretBoxError("the sealed text is too short");
  const tag = bytes.subarray(bytes.length - TAG_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
    .setAAD(Buffer.from(context))
    .setAuthTag(tag);
  try {
    const content = bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES);
    return Buffer.concat([decipher.update(content), decipher.final()]).toString("utf8");
  } catch (cause) {
    throw new SecretBoxError("the sealed text cannot be decrypted in this context", { cause });
  }
}

const MAX_OPENED_SECRETS = 1_000;
const OPENED_SECRET_TTL_MS = 10 * SECOND;

/**
 * Keeps opened secrets in memory for some seconds: opening a secret takes longer than signing an event with it. A changed
 * secret has another sealed text, so an outdated one is never returned.
 */
export function withOpenedSecrets(box: SecretBox): SecretBox {
  const opened = new LRUCache<string, string>({
    max: MAX_OPENED_SECRETS,
    ttl: OPENED_SECRET_TTL_MS,
    ttlAutopurge: true,
  });
  return {
    ...box,
    open(sealed, context) {
      const name = `${context} ${sealed}`;
      const known = opened.get(name);
      if (known !== undefined) return known;
      const secret = box.open(sealed, context);
      opened.set(name, secret);
      return secret;
    },
  };
}
