import { LRUCache } from "lru-cache";
import type { ChatNumber } from "../../platforms/chat/numbers.ts";
import type { Platform } from "../../schema/enumerations.ts";
import { openChannelToken } from "../../security/sealed-tokens.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import { type ChannelTokenRow, findChannel, findChannelToken } from "../../store/channels/channels.ts";
import type { Database } from "../../store/database/database.ts";
import { aboutRequester, type Requester } from "../tenants/audit-actors.ts";

/** A connected channel and its opened token. */
export interface ChannelAccess {
  row: ChannelTokenRow & { token_sealed: string };
  token: string;
  requester: Requester;
}

interface Parts {
  db: Database;
  secretBox: SecretBox;
}

export type OpenChannelOutcome =
  | { outcome: "opened"; access: ChannelAccess }
  | { outcome: "not_found" }
  | { outcome: "wrong_platform"; platform: string }
  | { outcome: "not_connected"; status: string };

export async function openChatChannel(
  { db, secretBox }: Parts,
  requester: Requester,
  channelId: string,
): Promise<OpenChannelOutcome> {
  const row = await findChannelToken(db, requester.clientId, channelId);
  if (!row) return { outcome: "not_found" };
  const { platform, status, token_sealed } = row;
  if (platform !== "chatapp") return { outcome: "wrong_platform", platform };
  if (status !== "connected" || token_sealed === null) return { outcome: "not_connected", status };
  const token = openChannelToken(secretBox, row.id, token_sealed);
  return { outcome: "opened", access: { row: { ...row, token_sealed }, token, requester } };
}

/** Only for chatapp channels, which always have both ids. */
export const toChatNumber = ({ row, token, requester }: ChannelAccess): ChatNumber => ({
  wabaId: row.waba_id as string,
  phoneNumberId: row.phone_number_id as string,
  token,
  about: { ...aboutRequester(requester), channel: row.id },
});

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
