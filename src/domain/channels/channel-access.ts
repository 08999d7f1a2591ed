import type { ChatNumber } from "../../platforms/chat/access.ts";
import { openChannelToken } from "../../security/channel-token.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import { type ChannelTokenRow, findChannelToken } from "../../store/channels/channels.ts";
import type { Database } from "../../store/database/database.ts";
import { aboutRequester, type Requester } from "../tenants/request-actor.ts";

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
