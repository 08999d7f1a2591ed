import type { Ground } from "../context.ts";
import type { Webhook } from "../webhooks/webhooks.ts";
import { bare } from "../wire/json.ts";
import type { Account } from "./accounts.ts";
import type { Content } from "./message-rules.ts";
import { hears } from "./subscriptions.ts";

interface SentMessage {
  mid: string;
  /** Who gets it. */
  person: string;
  content: Content;
}

interface Receipt {
  /** Milliseconds. */
  after: number;
  /** The field of a subscription that it belongs to. */
  field: string;
  tell(message: SentMessage, ground: Ground): object;
  /** Whether it comes from the account itself, and not from the person. */
  own?: boolean;
}

const echo: Receipt = {
  after: 100,
  field: "message_echoes",
  own: true,
  tell: ({ mid, content }, { settings }) => ({
    message: { mid, ...content, is_echo: true, app_id: numberOf(settings.PLATFORM_APP_ID) },
  }),
};

/** What becomes of a message. Messenger tells up to when all were read; the photo platform tells which, and nothing of deliveries. */
const RECEIPTS: Readonly<Record<Account["platform"], readonly Receipt[]>> = {
  messenger: [
    echo,
    {
      after: 400,
      field: "message_deliveries",
      tell: ({ mid }) => ({ delivery: { mids: [mid], watermark: Date.now() } }),
    },
    { after: 1_500, field: "message_reads", tell: () => ({ read: { watermark: Date.now() } }) },
  ],
  instagram: [echo, { after: 1_500, field: "messaging_seen", tell: ({ mid }) => ({ read: { mid } }) }],
};

const numberOf = (id: string) => (/^\d+$/.test(id) ? bare(id) : id);

/** Tells by and by what became of a message. */
export function followUp(ground: Ground, account: Account, message: SentMessage): void {
  for (const { after, field, tell, own = false } of RECEIPTS[account.platform])
    ground.later(after, () => {
      if (!hears(ground, account, field)) return;
      const [sender, recipient] = own ? [account.id, message.person] : [message.person, account.id];
      ground.webhooks.send(conversation(account, { sender, recipient }, tell(message, ground)));
    });
}

interface Ends {
  sender: string;
  recipient: string;
}

/** One event between a person and an account. */
export function conversation({ platform, id }: Account, { sender, recipient }: Ends, event: object): Webhook {
  const now = Date.now();
  const messaging = [{ sender: { id: sender }, recipient: { id: recipient }, timestamp: now, ...event }];
  return { object: platform === "messenger" ? "page" : "instagram", entry: [{ id, time: now, messaging }] };
}
