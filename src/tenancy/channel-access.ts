import { openChannelToken } from "../dispatch/channel-token.ts";
import type { ChatNumber } from "../platforms/chat/access.ts";
import { PlatformFailure } from "../platforms/errors/failure.ts";
import type { PageAccess } from "../platforms/pages/access.ts";
import { ApiError, invalidField } from "../runtime/errors.ts";
import type { SecretBox } from "../security/secret-box.ts";
import { type ChannelTokenRow, findChannelToken } from "../store/channels.ts";
import type { Database } from "../store/database.ts";
import { endDeadToken } from "./channels.ts";

/** A connected channel, and the token that speaks for it. */
export interface ChannelAccess {
  row: ChannelTokenRow & { token_sealed: string };
  token: string;
}

interface Parts {
  db: Database;
  secretBox: SecretBox;
}

/** 404 for a channel that the client does not have, 409 for one that is not connected. */
export async function openChannel(parts: Parts, clientId: string, channelId: string): Promise<ChannelAccess> {
  return opened(parts, await existing(parts, clientId, channelId));
}

/** The same where only chatapp will do: of another channel this is said before what state it is in. */
export async function openChatChannel(
  parts: Parts,
  clientId: string,
  channelId: string,
): Promise<ChannelAccess> {
  const row = await existing(parts, clientId, channelId);
  if (row.platform !== "chatapp")
    throw invalidField("/channel_id", `channel_id must name a chatapp channel, not one of ${row.platform}`);
  return opened(parts, row);
}

async function existing({ db }: Parts, clientId: string, channelId: string): Promise<ChannelTokenRow> {
  const row = await findChannelToken(db, clientId, channelId);
  if (!row) throw new ApiError("not_found", "There is no such channel");
  return row;
}

function opened({ secretBox }: Parts, row: ChannelTokenRow): ChannelAccess {
  const { token_sealed } = row;
  if (row.status !== "connected" || token_sealed === null)
    throw new ApiError("channel_disconnected", `The channel is ${row.status}: connect it again`);
  return { row: { ...row, token_sealed }, token: openChannelToken(secretBox, row.id, token_sealed) };
}

const aboutOf = ({ row }: ChannelAccess) => ({ client: row.client_id, channel: row.id });

/** Of a chatapp channel, which has both ids. */
export const asChatNumber = (access: ChannelAccess): ChatNumber => ({
  wabaId: access.row.waba_id as string,
  phoneNumberId: access.row.phone_number_id as string,
  token: access.token,
  about: aboutOf(access),
});

/** Of a photoapp or socialapp channel, which has a page. */
export const asPage = (access: ChannelAccess): PageAccess => ({
  pageId: access.row.page_id as string,
  token: access.token,
  about: aboutOf(access),
});

/** What is said in a channel's name. Where the platform calls its token dead, its client hears of it, whatever is answered. */
export async function speakingFor<T>(
  db: Database,
  { row }: ChannelAccess,
  say: () => Promise<T>,
): Promise<T> {
  try {
    return await say();
  } catch (error) {
    if (error instanceof PlatformFailure && error.verdict === "token_dead") await endDeadToken(db, row);
    throw error;
  }
}
