import { SEND_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { type Fields, jsonBody } from "../client/body.ts";
import type { PlatformClient } from "../client/client.ts";
import { asObject, textOf } from "../client/json-values.ts";
import { type Receipt, type SendOutcome, toSendOutcome } from "../sends.ts";
import { type PageAccess, type PageUseCase, pageIdentity } from "./access.ts";

export interface PageMessages {
  /** Sends a body created by `toPageBodies`. */
  send(page: PageAccess, body: Fields): Promise<SendOutcome>;
}

export function createPageMessages(client: PlatformClient, useCase: PageUseCase): PageMessages {
  return {
    async send(page, message) {
      const outcome = await client.call({
        ...pageIdentity(page, useCase),
        effect: "create",
        method: "POST",
        path: `/${page.pageId}/messages`,
        body: jsonBody(message),
        deadline: SEND_DEADLINE_MS,
      });
      return toSendOutcome(outcome, toReceipt);
    },
  };
}

/** The response to a reaction has no message id, only a recipient id. */
function toReceipt(body: unknown): Receipt | undefined {
  const { message_id, recipient_id } = asObject(body);
  const platformMessageId = textOf(message_id);
  return platformMessageId || textOf(recipient_id) ? { platformMessageId } : undefined;
}
