import { type PagePlatform, toPageBodies } from "../../../src/platforms/pages/messages.ts";
import type { Platforms } from "../../../src/platforms/platforms.ts";
import type { SendOutcome } from "../../../src/platforms/sends.ts";
import { parseJson } from "../../../src/runtime/json/json.ts";
import { openChannelToken } from "../../../src/security/channel-token.ts";
import type { SecretBox } from "../../../src/security/secret-box.ts";
import type { ClaimedSend } from "../../../src/store/messages/claim-sends.ts";

/** Options of a message besides its content. */
interface SendOptions {
  context?: { message_id: string };
  messaging_type?: string;
  tag?: string;
}

export interface RequestParts {
  platforms: Platforms;
  secretBox: SecretBox;
}

/** Returns the requests that send a message, in order. Throws when it cannot be built; a retry rarely helps. */
export function requestsOf(
  { platforms, secretBox }: RequestParts,
  row: ClaimedSend,
): (() => Promise<SendOutcome>)[] {
  const { id, recipient: to, type } = row;
  const token = openChannelToken(secretBox, row.channel_id, row.token_sealed);
  const about = { client: row.client_id, channel: row.channel_id, message_id: id };
  const content = parseJson(row.content);
  const { context, messaging_type: messagingType, tag }: SendOptions = JSON.parse(row.options ?? "{}");
  if (row.platform === "chatapp") {
    const { waba_id: wabaId, phone_number_id: phoneNumberId } = row;
    if (wabaId === null || phoneNumberId === null) throw new Error("the channel has no number");
    const number = { wabaId, phoneNumberId, token, about };
    return [() => platforms.chat.messages.send(number, { id, to, type, content, context })];
  }
  const { page_id: pageId } = row;
  if (pageId === null) throw new Error("the channel has no page");
  const { messages } = PAGE_PLATFORMS[row.platform as PagePlatform](platforms);
  const bodies = toPageBodies({ to, type, content, context, messagingType, tag });
  return bodies.map((body) => () => messages.send({ pageId, token, about }, body));
}

const PAGE_PLATFORMS = {
  photoapp: ({ photo }: Platforms) => photo,
  socialapp: ({ social }: Platforms) => social,
} as const;
