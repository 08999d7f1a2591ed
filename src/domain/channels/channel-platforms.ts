import { LRUCache } from "lru-cache";
import type { Platform } from "../../schema/enumerations.ts";
import { findChannel } from "../../store/channels/channels.ts";
import type { Database } from "../../store/database/database.ts";

/** Returns the platform of a client's channel; undefined when the client has no such channel. */
export type PlatformLookup = (
  clientId: string,
  channelId: string,
) => Promise<Platform | undefined> | Platform;

const MAX_CACHED_CHANNELS = 20_000;

/**
 * Caches the platform of each channel, which never changes. Whether it is connected may change and is not
 * cached.
 */
export function createPlatformLookup(db: Database): PlatformLookup {
  // `maxSize` instead of `max`: with `max` the cache would allocate room for all entries up front.
  const cache = new LRUCache<string, Platform>({ maxSize: MAX_CACHED_CHANNELS, sizeCalculation: () => 1 });
  const load = async (key: string, [clientId, channelId]: [string, string]) => {
    const row = await findChannel(db.forKey(clientId), clientId, channelId);
    if (row) cache.set(key, row.platform as Platform);
    return row?.platform as Platform | undefined;
  };
  return (clientId, channelId) => {
    const key = `${clientId} ${channelId}`;
    return cache.get(key) ?? load(key, [clientId, channelId]);
  };
}
