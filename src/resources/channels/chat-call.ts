import { openChatChannel, toChatNumber } from "../../domain/channels/channel-access.ts";
import { invalidateChannelToken } from "../../domain/channels/channels.ts";
import { type ClientRequest, toRequester } from "../../domain/tenants/request-actor.ts";
import type { ErrorCode } from "../../http/api-error.ts";
import { requireOpened } from "../../http/channel-errors.ts";
import { PLATFORM_REFUSALS } from "../../http/platform-errors.ts";
import type { ChatNumber } from "../../platforms/chat/access.ts";
import { withDeadTokenCheck } from "../../platforms/errors/failure.ts";
import type { Platforms } from "../../platforms/platforms.ts";
import type { Log } from "../../runtime/logging/log.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import type { Database } from "../../store/database/database.ts";

export interface ChatParts {
  log: Log;
  secretBox: SecretBox;
  platforms: Pick<Platforms, "chat">;
}

/** Error codes of a failed call on behalf of a channel. */
export const CHAT_REFUSALS: readonly ErrorCode[] = ["channel_disconnected", ...PLATFORM_REFUSALS];

interface ChannelRequest extends ClientRequest {
  db: Database;
  params: { channel_id: string };
}

/** Calls the platform on behalf of a connected chatapp channel. A dead token disconnects the channel. */
export async function callChat<T>(
  { log, secretBox, platforms }: ChatParts,
  request: ChannelRequest,
  call: (chat: Platforms["chat"], number: ChatNumber) => Promise<T>,
): Promise<T> {
  const { db, params } = request;
  const access = requireOpened(
    await openChatChannel({ db, secretBox }, toRequester(request), params.channel_id),
  );
  return withDeadTokenCheck(
    () => call(platforms.chat, toChatNumber(access)),
    ({ platformError }) =>
      invalidateChannelToken({ db, log }, { channel: access.row, code: platformError?.code }),
  );
}
