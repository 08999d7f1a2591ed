import type { SandboxContext } from "../context.ts";
import { ownProperty } from "../own-property.ts";
import type { InboundMessage, InboundSource } from "../webhooks/inbound-source.ts";
import type { Webhook } from "../webhooks/webhooks.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { accountOf, isAccount } from "./accounts.ts";
import { CHANGES } from "./inbound-changes.ts";
import { EVENT_FIELDS, EVENTS } from "./inbound-events.ts";
import { rememberPhotoPerson } from "./people.ts";
import { toMessagingWebhook } from "./receipts.ts";
import { isSubscribedTo } from "./subscriptions.ts";

/** Receives messages, comments and lead forms from people for pages and photo accounts. */
export const pageInbound = (context: SandboxContext): InboundSource => ({
  hasChannel: isAccount,
  receive: (message) => receive(context, message),
});

function receive(
  context: SandboxContext,
  { channel, from, type, content }: InboundMessage,
): Webhook | undefined {
  const account = accountOf(channel);
  if (!/^\d{1,32}$/.test(from)) throw invalidParameter("from must be a scoped id of at most 32 digits");
  if (account.platform === "instagram") rememberPhotoPerson(context, from);
  const given = asObject(content);
  const event = ownProperty(EVENTS[account.platform], type);
  if (event) {
    const payload = event(given);
    const isSubscribed = Object.keys(payload).some((part) =>
      isSubscribedTo(context, account, EVENT_FIELDS[account.platform][part] ?? ""),
    );
    return isSubscribed
      ? toMessagingWebhook(account, { sender: from, recipient: channel }, payload)
      : undefined;
  }
  const change = ownProperty(CHANGES[account.platform], type);
  if (!change) {
    const known = [...Object.keys(EVENTS[account.platform]), ...Object.keys(CHANGES[account.platform])];
    throw invalidParameter(`type must be one of {${known.join(", ")}}`);
  }
  const payload = change({ context, account, from, given });
  if (!isSubscribedTo(context, account, payload.field)) return undefined;
  const entry = { id: channel, time: Math.floor(Date.now() / 1000), changes: [payload] };
  return { object: account.platform === "messenger" ? "page" : "instagram", entry: [entry] };
}

function asObject(content: unknown): Record<string, unknown> {
  if (content === undefined || content === null) return {};
  if (typeof content !== "object" || Array.isArray(content))
    throw invalidParameter("content must be an object");
  return content as Record<string, unknown>;
}
