import { LRUCache } from "lru-cache";
import type { Platform } from "../../schema/enumerations.ts";
import { findChannel } from "../../store/channels/channels.ts";
import type { Queryable } from "../../store/database/database.ts";

/** The platform of a client's channel; undefined where the client has no such channel. */
export type PlatformOf = (clientId: string, channelId: string) => Promise<Platform | undefined> | Platform;

const MOST = 20_000;

/** A channel never changes its platform, so it is asked for once. Whether the channel is connected may change, and is not. */
export function rememberPlatforms(db: Queryable): PlatformOf {
  // By size, each counting as one: by number, room for all of them would be made at once.
  const known = new LRUCache<string, Platform>({ maxSize: MOST, sizeCalculation: () => 1 });
  const look = async (name: string, [clientId, channelId]: [string, string]) => {
    const row = await findChannel(db, clientId, channelId);
    if (row) known.set(name, row.platform as Platform);
    return row?.platform as Platform | undefined;
  };
  return (clientId, channelId) => {
    const name = `${clientId} ${channelId}`;
    return known.get(name) ?? look(name, [clientId, channelId]);
  };
}
