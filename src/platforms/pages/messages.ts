import { SEND_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { asObject, type Fields, jsonBody, textOf } from "../bodies.ts";
import type { PlatformClient } from "../client/client.ts";
import { type PreparedSend, prepareSend, type Receipt } from "../sends.ts";
import { type PageAccess, type PageUseCase, pageIdentity } from "./pages.ts";

export interface PageMessages {
  /** Takes a body created by `toPageBodies`. */
  prepare(page: PageAccess, body: Fields): PreparedSend;
}

export function createPageMessages(client: PlatformClient, useCase: PageUseCase): PageMessages {
  return {
    prepare: (page, message) =>
      prepareSend(
        client,
        {
          ...pageIdentity(page, useCase),
          effect: "create",
          method: "POST",
          path: `/${page.pageId}/messages`,
          body: jsonBody(message),
          deadline: SEND_DEADLINE_MS,
        },
        toReceipt,
      ),
  };
}

/** The response to a reaction has no message id, only a recipient id. */
function toReceipt(body: unknown): Receipt | undefined {
  const { message_id, recipient_id } = asObject(body);
  const platformMessageId = textOf(message_id);
  return platformMessageId || textOf(recipient_id) ? { platformMessageId } : undefined;
}

export type PagePlatform = "photoapp" | "socialapp";

/** A message as the API accepts it, in the chat platform's format. */
interface PageMessage {
  to: string;
  type: string;
  content: unknown;
  context?: { message_id: string } | undefined;
  messagingType?: string | undefined;
  tag?: string | undefined;
}

/** Attachment types by message type; photo accounts accept no documents. */
const ATTACHMENT_TYPES: Readonly<Record<string, string>> = {
  image: "image",
  video: "video",
  audio: "audio",
  document: "file",
};

/** True when a message of this type can be sent on the platform. */
export function isTranslatable(platform: PagePlatform, type: string): boolean {
  if (platform === "photoapp" && type === "document") return false;
  return type === "text" || type === "reaction" || Object.hasOwn(ATTACHMENT_TYPES, type);
}

/** Returns the request bodies in sending order. Media has no caption there, so a caption follows as a text. */
export function toPageBodies(message: PageMessage): Fields[] {
  const content = asObject(message.content);
  if (message.type === "text") return [toMessageBody(message, { text: content.body })];
  if (message.type === "reaction") return [toReactionBody(message.to, content)];
  const attachment = { type: ATTACHMENT_TYPES[message.type], payload: { url: content.link } };
  const media = toMessageBody(message, { attachment });
  const caption = textOf(content.caption);
  return caption ? [media, toMessageBody({ ...message, context: undefined }, { text: caption })] : [media];
}

const toMessageBody = (
  { to, context, messagingType = "RESPONSE", tag }: PageMessage,
  message: Fields,
): Fields => ({
  recipient: { id: to },
  messaging_type: messagingType,
  ...(tag === undefined ? {} : { tag }),
  message,
  ...(context ? { reply_to: { mid: context.message_id } } : {}),
});

/** An empty emoji removes the reaction. */
const toReactionBody = (to: string, { message_id, emoji }: Record<string, unknown>): Fields =>
  emoji
    ? { recipient: { id: to }, sender_action: "react", payload: { message_id, reaction: emoji } }
    : { recipient: { id: to }, sender_action: "unreact", payload: { message_id } };
