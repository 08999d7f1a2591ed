import { randomBytes } from "node:crypto";
import { newNodeId, perSandbox, type SandboxContext } from "../context.ts";
import { invalidParameter } from "../graph/graph-error.ts";
import { toBigInt } from "../graph/json.ts";
import type { Call, Edge } from "../graph/node.ts";
import type { Params } from "../graph/params.ts";
import { usageHeaders, withUsageHeaders } from "../graph/usage.ts";
import { PHOTO_PERSON_PREFIX, throwPageRecipientRefusal } from "../magic-values.ts";
import type { Webhook } from "../webhooks.ts";
import {
  type Account,
  accountOf,
  checkPageToken,
  isSubscribedTo,
  pageIdOf,
  webhookObjectOf,
} from "./accounts-and-subscriptions.ts";
import { type Content, checkAction, checkSendOptions, readContent, readRecipient } from "./message-rules.ts";

/** Sends from the addressed page, or from its photo account when the recipient is on the photo platform. */
export const pageMessages = (context: SandboxContext): Edge => ({
  scopes: ["pages_messaging"],
  usage: "messenger",
  answer: (call) =>
    sendWithUsage(context, senderAccountFor(context, accountOf(call.node), call.params), call),
});

export const instagramMessages = (context: SandboxContext): Edge => ({
  scopes: ["instagram_manage_messages"],
  usage: "instagram",
  answer: (call) => sendWithUsage(context, accountOf(call.node), call),
});

/** Sends from the page of the token: `me` with a page token is the page. */
export const meMessages = (context: SandboxContext): Edge => ({
  ...pageMessages(context),
  answer(call) {
    checkPageToken(call.grant);
    return sendWithUsage(
      context,
      senderAccountFor(context, accountOf(pageIdOf(call.grant)), call.params),
      call,
    );
  },
});

/** Chooses the sending account by the recipient, because one edge serves both platforms. */
function senderAccountFor(context: SandboxContext, page: Account, params: Params): Account {
  const recipient = readRecipient(params);
  const photoAccount = page.page.instagram;
  return photoAccount && "id" in recipient && isPhotoPerson(context, recipient.id)
    ? accountOf(photoAccount.id)
    : page;
}

/** Counts the call against the sending account's quota, which the URL alone does not determine. */
const sendWithUsage = (context: SandboxContext, account: Account, call: Call): unknown =>
  withUsageHeaders(usageHeaders(account.platform, account.id), () => sendMessage(context, account, call));

function sendMessage(context: SandboxContext, account: Account, { grant, params }: Call): unknown {
  checkPageToken(grant);
  checkSendOptions(params, account);
  const recipient = readRecipient(params);
  const message = params.object("message");
  if ((message === undefined) === !params.has("sender_action"))
    throw invalidParameter("Exactly one of the parameters message and sender_action is required.");
  if (!message) checkAction(params);
  const content = message && readContent(message, account);
  // The author of a comment gets a generated id, whose ending must not count as a magic value.
  const person = "id" in recipient ? recipient.id : newNodeId();
  if ("id" in recipient) throwPageRecipientRefusal(account, person, triedPairsOf(context));
  if (!content) return { recipient_id: person };
  const mid = newMid();
  scheduleReceipts(context, account, { mid, person, content });
  return { recipient_id: person, message_id: mid };
}

export const newMid = (): string => `m_${randomBytes(24).toString("base64url")}`;

/** Pairs of sender and recipient that have used up their failing first attempt. */
const triedPairsOf = perSandbox(() => new Set<string>());

/** People who have written to a photo account. */
const photoPeopleOf = perSandbox(() => new Set<string>());

export const rememberPhotoPerson = (context: SandboxContext, id: string): void =>
  void photoPeopleOf(context).add(id);

const isPhotoPerson = (context: SandboxContext, id: string): boolean =>
  id.startsWith(PHOTO_PERSON_PREFIX) || photoPeopleOf(context).has(id);

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
function scheduleReceipts(context: SandboxContext, account: Account, message: SentMessage): void {
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
  account: Account,
  { sender, recipient }: Participants,
  event: object,
): Webhook {
  const now = Date.now();
  const messaging = [{ sender: { id: sender }, recipient: { id: recipient }, timestamp: now, ...event }];
  return { object: webhookObjectOf(account), entry: [{ id: account.id, time: now, messaging }] };
}
