import { LRUCache } from "lru-cache";
import { SECOND } from "../runtime/durations.ts";
import type { SecretBox } from "./secret-box.ts";

const MAX_SECRETS = 1_000;
const KEPT_MS = 10 * SECOND;

/**
 * Keeps opened secrets in memory for some seconds: opening a secret takes longer than signing an event with it. A changed
 * secret has another sealed text, so an outdated one is never returned.
 */
export function withOpenedSecrets(box: SecretBox): SecretBox {
  const opened = new LRUCache<string, string>({ max: MAX_SECRETS, ttl: KEPT_MS, ttlAutopurge: true });
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
