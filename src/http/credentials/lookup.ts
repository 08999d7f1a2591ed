import { LRUCache } from "lru-cache";
import { SECOND } from "../../runtime/durations.ts";

/** A revoked key, a disabled user or a changed role must be seen within 5 s on every process; a slow query counts in. */
const CREDENTIAL_TTL_MS = 4 * SECOND;
const MAX_CREDENTIALS = 20_000;

/** What the database says of a credential, remembered for a moment. Several requests at once ask once. */
export type Lookup<V> = (id: string) => Promise<V | undefined>;

export function cachedLookup<V>(load: Lookup<V>): Lookup<V> {
  const cache = new LRUCache<string, { value: V | undefined }>({
    // By size, each counting as one: by number, room for all of them would be made at once.
    maxSize: MAX_CREDENTIALS,
    sizeCalculation: () => 1,
    ttl: CREDENTIAL_TTL_MS,
    ttlResolution: 0,
    async fetchMethod(id, _stale, { options }) {
      const loadStartedAt = performance.now();
      const value = await load(id);
      // What was read is as old as the question, not as the answer.
      options.ttl = Math.max(1, CREDENTIAL_TTL_MS - (performance.now() - loadStartedAt));
      return { value };
    },
  });
  return async (id) => (cache.get(id) ?? (await cache.fetch(id)))?.value;
}
