import { createHmac } from "node:crypto";
import { LRUCache } from "lru-cache";
import { SECOND } from "../../runtime/durations.ts";

const MAX_PROOFS = 1_000;
const KEPT_MS = 10 * SECOND;

/** Returns the HMAC that proves the app may use a token, and keeps it for some seconds: each call needs it twice. */
export function createAppProofs(secret: string): (token: string) => string {
  const proofs = new LRUCache<string, string>({ max: MAX_PROOFS, ttl: KEPT_MS, ttlAutopurge: true });
  return (token) => {
    const known = proofs.get(token);
    if (known !== undefined) return known;
    const proof = createHmac("sha256", secret).update(token).digest("hex");
    proofs.set(token, proof);
    return proof;
  };
}
