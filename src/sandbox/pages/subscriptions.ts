import { APP_NAME } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import type { Edge } from "../node-kind.ts";
import { perSandbox } from "../per-sandbox.ts";
import type { Call } from "../wire/call.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { type Account, accountOf, checkPageToken } from "./accounts.ts";

/** Webhook fields that the app can subscribe to. */
const FIELDS = {
  messenger: [
    "messages",
    "messaging_postbacks",
    "messaging_optins",
    "messaging_referrals",
    "messaging_handovers",
    "message_deliveries",
    "message_reads",
    "message_echoes",
    "message_reactions",
    "message_edits",
    "standby",
    "feed",
    "mention",
    "leadgen",
  ],
  instagram: [
    "messages",
    "messaging_postbacks",
    "messaging_seen",
    "messaging_referral",
    "message_echoes",
    "message_reactions",
    "comments",
    "live_comments",
    "mentions",
    "story_insights",
  ],
} as const;

/** Chosen fields. Without a choice all are subscribed, so that an account works after a restart. */
const chosenFieldsOf = perSandbox(() => new Map<string, readonly string[]>());

const subscribedFieldsOf = (context: SandboxContext, { id, platform }: Account): readonly string[] =>
  chosenFieldsOf(context).get(id) ?? FIELDS[platform];

export const isSubscribedTo = (context: SandboxContext, account: Account, field: string): boolean =>
  subscribedFieldsOf(context, account).includes(field);

/** Edges that manage the app's subscription to a page or photo account. */
export const subscribedApps = (context: SandboxContext): Record<string, Edge> => {
  const edge = (answer: (account: Account, call: Call) => unknown): Edge => ({
    scopes: ["pages_manage_metadata"],
    usage: "pages",
    answer(call) {
      checkPageToken(call.grant);
      return answer(accountOf(call.node), call);
    },
  });
  return {
    "POST subscribed_apps": edge((account, call) => subscribe(context, account, call)),
    "GET subscribed_apps": edge((account) => ({ data: toSubscribedApps(context, account) })),
    "DELETE subscribed_apps": edge((account) => {
      chosenFieldsOf(context).delete(account.id);
      for (const id of withPhotoAccounts(account)) context.webhooks.unsubscribe(id);
      return { success: true };
    }),
  };
};

function subscribe(context: SandboxContext, account: Account, { params }: Call): unknown {
  params.requiredText("subscribed_fields");
  const fields = params.words("subscribed_fields") ?? [];
  const known: readonly string[] = FIELDS[account.platform];
  const unknownField = fields.find((field) => !known.includes(field));
  if (unknownField !== undefined)
    throw invalidParameter(
      `Param subscribed_fields[${fields.indexOf(unknownField)}] must be one of {${known.join(", ")}} - got "${unknownField}".`,
    );
  chosenFieldsOf(context).set(account.id, fields);
  for (const id of withPhotoAccounts(account)) context.webhooks.subscribe(id);
  return { success: true };
}

/** A subscription to a page includes its photo account. */
const withPhotoAccounts = ({ id, platform, page }: Account): string[] =>
  platform === "messenger" && page.instagram ? [id, page.instagram.id] : [id];

function toSubscribedApps(context: SandboxContext, account: Account): unknown[] {
  if (!context.webhooks.isSubscribed(account.id)) return [];
  const id = context.settings.PLATFORM_APP_ID;
  const link = `https://www.facebook.com/games/?app_id=${id}`;
  return [{ id, name: APP_NAME, link, subscribed_fields: subscribedFieldsOf(context, account) }];
}
