import { LRUCache } from "lru-cache";
import { SECOND } from "../../runtime/durations.ts";

/**
 * Every process must notice a revoked key, disabled user or changed role within 5 s, including the query
 * time.
 */
const CREDENTIAL_TTL_MS = 4 * SECOND;
const MAX_CREDENTIALS = 20_000;

/** Loads a credential through a short-lived cache. Concurrent requests for one credential share a query. */
export interface Lookup<V> {
  find(id: string): Promise<V | undefined>;
  /** Drops the cached value, and the result of a query in progress: both may be older than the change. */
  forget(id: string): void;
}

export function cachedLookup<V>(load: Lookup<V>["find"], ttlMs = CREDENTIAL_TTL_MS): Lookup<V> {
  const cache = new LRUCache<string, { value: V | undefined }>({
    // maxSize with size 1 per entry, because `max` would allocate memory for all entries up front.
    maxSize: MAX_CREDENTIALS,
    sizeCalculation: () => 1,
    ttl: ttlMs,
    ttlResolution: 0,
    // A query that `forget` interrupts still answers the requests that wait for it; it is only not cached.
    ignoreFetchAbort: true,
    async fetchMethod(id, _stale, { options }) {
      const loadStartedAt = performance.now();
      const value = await load(id);
      // The value's age counts from the start of the query, not from its end.
      options.ttl = Math.max(1, ttlMs - (performance.now() - loadStartedAt));
      return { value };
    },
  });
  return {
    find: async (id) => (cache.get(id) ?? (await cache.fetch(id)))?.value,
    forget: (id) => void cache.delete(id),
  };
}
