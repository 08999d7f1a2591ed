import { LRUCache } from "lru-cache";
import { SECOND } from "../../runtime/durations.ts";

/**
 * Every process must notice a revoked key, disabled user or changed role within 5 s, including the query
 * time.
 */
const CREDENTIAL_TTL_MS = 4 * SECOND;
const MAX_CREDENTIALS = 20_000;

/** Loads a credential through a short-lived cache. Concurrent requests for one credential share a query. */
export type Lookup<V> = (id: string) => Promise<V | undefined>;

export function cachedLookup<V>(load: Lookup<V>): Lookup<V> {
  const cache = new LRUCache<string, { value: V | undefined }>({
    // maxSize with size 1 per entry, because `max` would allocate memory for all entries up front.
    maxSize: MAX_CREDENTIALS,
    sizeCalculation: () => 1,
    ttl: CREDENTIAL_TTL_MS,
    ttlResolution: 0,
    async fetchMethod(id, _stale, { options }) {
      const loadStartedAt = performance.now();
      const value = await load(id);
      // The value's age counts from the start of the query, not from its end.
      options.ttl = Math.max(1, CREDENTIAL_TTL_MS - (performance.now() - loadStartedAt));
      return { value };
    },
  });
  return async (id) => (cache.get(id) ?? (await cache.fetch(id)))?.value;
}
