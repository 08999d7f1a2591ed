import type { SandboxContext } from "../context.ts";
import type { Webhook } from "../webhooks/webhooks.ts";
import { toBigInt } from "../wire/json.ts";
import type { Account } from "./accounts.ts";
import type { Content } from "./message-rules.ts";
import { isSubscribedTo } from "./subscriptions.ts";

interface SentMessage {
  mid: string;
  /** The recipient's id. */
  person: string;
  content: Content;
}

interface Receipt {
  delayMs: number;
  /** The subscription field that the receipt requires. */
  field: string;
  toEvent(message: SentMessage, context: SandboxContext): object;
  /** True when the account is the sender, false when the person is. */
  isFromAccount?: boolean;
}

const echo: Receipt = {
  delayMs: 100,
  field: "message_echoes",
  isFromAccount: true,
  toEvent: ({ mid, content }, { settings }) => ({
    message: { mid, ...content, is_echo: true, app_id: toAppId(settings.PLATFORM_APP_ID) },
  }),
};

/**
 * Receipts of a message. Messenger reports a read watermark; the photo platform reports each read message and
 * no deliveries.
 */
const RECEIPTS: Readonly<Record<Account["platform"], readonly Receipt[]>> = {
  messenger: [
    echo,
    {
      delayMs: 400,
      field: "message_deliveries",
      toEvent: ({ mid }) => ({ delivery: { mids: [mid], watermark: Date.now() } }),
    },
    { delayMs: 1_500, field: "message_reads", toEvent: () => ({ read: { watermark: Date.now() } }) },
  ],
  instagram: [echo, { delayMs: 1_500, field: "messaging_seen", toEvent: ({ mid }) => ({ read: { mid } }) }],
};

const toAppId = (id: string) => (/^\d+$/.test(id) ? toBigInt(id) : id);

/** Sends the receipts of a message over time. */
export function scheduleReceipts(context: SandboxContext, account: Account, message: SentMessage): void {
  for (const { delayMs, field, toEvent, isFromAccount = false } of RECEIPTS[account.platform])
    context.schedule(delayMs, () => {
      if (!isSubscribedTo(context, account, field)) return;
      const [sender, recipient] = isFromAccount ? [account.id, message.person] : [message.person, account.id];
      context.webhooks.send(toMessagingWebhook(account, { sender, recipient }, toEvent(message, context)));
    });
}

interface Participants {
  sender: string;
  recipient: string;
}

/** Builds the webhook of one event between a person and an account. */
export function toMessagingWebhook(
  { platform, id }: Account,
  { sender, recipient }: Participants,
  event: object,
): Webhook {
  const now = Date.now();
  const messaging = [{ sender: { id: sender }, recipient: { id: recipient }, timestamp: now, ...event }];
  return { object: platform === "messenger" ? "page" : "instagram", entry: [{ id, time: now, messaging }] };
}
