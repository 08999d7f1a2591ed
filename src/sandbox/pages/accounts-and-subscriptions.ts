import { APP_NAME, PAGES, type SocialPage } from "../built-in-assets.ts";
import { perSandbox, type SandboxContext } from "../context.ts";
import { GraphError, invalidParameter } from "../graph/graph-error.ts";
import type { Call, Edge } from "../graph/node.ts";
import type { Grant } from "../graph/tokens.ts";

/** An account that sends and receives messages: a page, or a page's photo account. */
export interface Account {
  platform: "messenger" | "instagram";
  id: string;
  page: SocialPage;
}

const ACCOUNTS: readonly Account[] = PAGES.flatMap((page): Account[] => [
  { platform: "messenger", id: page.id, page },
  ...(page.instagram ? [{ platform: "instagram" as const, id: page.instagram.id, page }] : []),
]);

export const isAccount = (id: string): boolean => ACCOUNTS.some((account) => account.id === id);

export const isOnPlatform = (platform: Account["platform"]) => (id: string) =>
  ACCOUNTS.some((account) => account.id === id && account.platform === platform);

/** Throws for an unknown id; callers pass nodes that are already matched. */
export function accountOf(id: string): Account {
  const account = ACCOUNTS.find((candidate) => candidate.id === id);
  if (!account) throw new Error(`no page or photo account has the id ${id}`);
  return account;
}

/** Returns the page that the token belongs to. */
export function pageIdOf({ assets }: Grant): string {
  const page = assets.find(isOnPlatform("messenger"));
  if (page === undefined) throw invalidParameter("The token does not belong to a page");
  return page;
}

/** A page token also covers the page's photo account. */
export const reachesAccount = ({ assets }: Grant, id: string): boolean =>
  assets.includes(id) || assets.includes(accountOf(id).page.id);

/** Actions of a page require a page token; a user token is refused. */
export function checkPageToken({ kind }: Grant): void {
  if (kind !== "page")
    throw new GraphError(210, "(#210) A page access token is required to request this resource.", {
      status: 403,
    });
}

/** The object type of webhooks about the account. */
export const webhookObjectOf = ({ platform }: Account): "page" | "instagram" =>
  platform === "messenger" ? "page" : "instagram";

/** Webhook fields that the app can subscribe to. */
const SUBSCRIPTION_FIELDS = {
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
  chosenFieldsOf(context).get(id) ?? SUBSCRIPTION_FIELDS[platform];

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
  const known: readonly string[] = SUBSCRIPTION_FIELDS[account.platform];
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
