import type { ChatNumber } from "../../platforms/chat/access.ts";
import { ApiError, invalidField } from "../../runtime/errors.ts";
import { openChannelToken } from "../../security/channel-token.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import { type ChannelTokenRow, findChannelToken } from "../../store/channels/channels.ts";
import type { Database } from "../../store/database/database.ts";

/** A connected channel, and the token that speaks for it. */
export interface ChannelAccess {
  row: ChannelTokenRow & { token_sealed: string };
  token: string;
}

interface Parts {
  db: Database;
  secretBox: SecretBox;
}

/** 404 for a channel that the client does not have, 400 for one of another platform, 409 for one that is not connected. */
export async function openChatChannel(
  { db, secretBox }: Parts,
  clientId: string,
  channelId: string,
): Promise<ChannelAccess> {
  const row = await findChannelToken(db, clientId, channelId);
  if (!row) throw new ApiError("not_found", "There is no such channel");
  if (row.platform !== "chatapp")
    throw invalidField("/channel_id", `channel_id must name a chatapp channel, not one of ${row.platform}`);
  const { token_sealed } = row;
  if (row.status !== "connected" || token_sealed === null) throw notConnectedError(row.status);
  return { row: { ...row, token_sealed }, token: openChannelToken(secretBox, row.id, token_sealed) };
}

export const notConnectedError = (status: string): ApiError =>
  new ApiError(
    "channel_disconnected",
    status === "needs_reauth"
      ? "The platform takes the channel's token no more: connect it again"
      : "The channel is disconnected: connect it again",
  );

/** Its number, for a chatapp channel has both ids. */
export const toChatNumber = ({ row, token }: ChannelAccess): ChatNumber => ({
  wabaId: row.waba_id as string,
  phoneNumberId: row.phone_number_id as string,
  token,
  about: { client: row.client_id, channel: row.id },
});
