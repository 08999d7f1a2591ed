import type { Ground } from "../context.ts";
import { own } from "../own-property.ts";
import type { InboundMessage, InboundSource } from "../webhooks/inbound.ts";
import type { Webhook } from "../webhooks/webhooks.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { accountOf, isAccount } from "./accounts.ts";
import { CHANGES } from "./inbound-changes.ts";
import { EVENT_FIELDS, EVENTS } from "./inbound-events.ts";
import { rememberPhotoPerson } from "./people.ts";
import { conversation } from "./receipts.ts";
import { hears } from "./subscriptions.ts";

/** People write to pages and photo accounts, comment, and fill in forms. */
export const pageInbound = (ground: Ground): InboundSource => ({
  knows: isAccount,
  receive: (message) => receive(ground, message),
});

function receive(ground: Ground, { channel, from, type, content }: InboundMessage): Webhook | undefined {
  const account = accountOf(channel);
  if (!/^\d{1,32}$/.test(from)) throw invalidParameter("from must be a scoped id of digits");
  if (account.platform === "instagram") rememberPhotoPerson(ground, from);
  const given = asObject(content);
  const event = own(EVENTS[account.platform], type);
  if (event) {
    const told = event(given);
    const isHeard = Object.keys(told).some((part) =>
      hears(ground, account, EVENT_FIELDS[account.platform][part] ?? ""),
    );
    return isHeard ? conversation(account, { sender: from, recipient: channel }, told) : undefined;
  }
  const change = own(CHANGES[account.platform], type);
  if (!change) {
    const known = [...Object.keys(EVENTS[account.platform]), ...Object.keys(CHANGES[account.platform])];
    throw invalidParameter(`type must be one of {${known.join(", ")}}`);
  }
  const told = change({ ground, account, from, given });
  if (!hears(ground, account, told.field)) return undefined;
  const entry = { id: channel, time: Math.floor(Date.now() / 1000), changes: [told] };
  return { object: account.platform === "messenger" ? "page" : "instagram", entry: [entry] };
}

function asObject(content: unknown): Record<string, unknown> {
  if (content === undefined || content === null) return {};
  if (typeof content !== "object" || Array.isArray(content))
    throw invalidParameter("content must be an object");
  return content as Record<string, unknown>;
}
