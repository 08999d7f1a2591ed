import { parseJson } from "../../runtime/json/json.ts";
import type { MessageType, MessagingType } from "../../schema/enumerations.ts";
import type { MessageDetailDto } from "../../schema/messages.ts";
import type { MessageDetailRow } from "../../store/messages/messages.ts";
import { toMessage } from "./message-timeline.ts";

/** The content of a message as it is stored. */
interface StoredContent {
  /** Null or empty outside of a batch. */
  batch_id: string | null;
  /** JSON; in a batch: of the fields that replace those of the batch's content, null without any. */
  content: string | null;
  /** JSON of the content that the messages of a batch share. */
  batch_content: string | null;
}

/** The content of a message; in a batch, its own fields replace those that the batch has for all. Null when it is deleted. */
export function contentOf({ batch_id, content, batch_content }: StoredContent): object | null {
  if (!batch_id) return content === null ? null : (parseJson(content) as object);
  if (batch_content === null) return null;
  const common = parseJson(batch_content) as object;
  return content === null ? common : { ...common, ...(parseJson(content) as object) };
}

/** Options of a message besides its content. */
interface SendOptions {
  context?: { message_id: string };
  messaging_type?: MessagingType;
  tag?: string;
}

export const sendOptionsOf = ({ options }: { options: string | null }): SendOptions =>
  JSON.parse(options ?? "{}");

export function toMessageDetail(row: MessageDetailRow): MessageDetailDto {
  const { context = null, messaging_type = null, tag = null } = sendOptionsOf(row);
  const type = row.type as MessageType;
  return { ...toMessage(row), type, content: contentOf(row), context, messaging_type, tag };
}
