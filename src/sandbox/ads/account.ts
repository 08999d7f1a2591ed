import { AD_ACCOUNTS, type AdAccount, hasDeadToken } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import type { Grant } from "../login/tokens.ts";
import type { NodeKind } from "../node-kind.ts";
import type { Call } from "../wire/call.ts";
import { checkFields, project } from "../wire/fields.ts";
import { deadToken, noSuchObject } from "../wire/graph-error.ts";
import { spendCapOf } from "./spend-cap.ts";

/** Returns the digits of `act_1`; empty for any other node. */
const digitsOf = (node: string) => /^act_(\d+)$/.exec(node)?.[1] ?? "";

const accountsById = new Map(AD_ACCOUNTS.map((account) => [account.id, account]));

export function accountOf({ method, node }: Pick<Call, "method" | "node">): AdAccount {
  const account = accountsById.get(digitsOf(node));
  if (!account) throw noSuchObject(method, node);
  return account;
}

/** An account with a dead token is reachable by every grant, so that its error shows. */
export const accountNodes: Omit<NodeKind, "edges"> = {
  name: "ad account",
  owns: (node) => accountsById.has(digitsOf(node)) || hasDeadToken(digitsOf(node)),
  reaches: ({ assets }, node) => hasDeadToken(digitsOf(node)) || assets.includes(digitsOf(node)),
  asset: digitsOf,
};

/** Wraps the edges so that accounts with a dead token fail on every call. */
export const withDeadTokens = (edges: NodeKind["edges"]): NodeKind["edges"] =>
  Object.fromEntries(
    Object.entries(edges).map(([name, edge]) => {
      const answer = (call: Call) => {
        if (hasDeadToken(digitsOf(call.node))) throw deadToken(460);
        return edge.answer(call);
      };
      return [name, { ...edge, answer }];
    }),
  );

const ACCOUNT_FIELDS = [
  "account_id",
  "account_status",
  "amount_spent",
  "business",
  "business_name",
  "currency",
  "disable_reason",
  "name",
  "spend_cap",
  "timezone_name",
];

/** Renders an account; `business` requires the business_management permission. */
function toAccountNode(context: SandboxContext, account: AdAccount, { scopes }: Grant) {
  const { id, business, ...rest } = account;
  return {
    ...rest,
    id: `act_${id}`,
    account_id: id,
    amount_spent: "0",
    spend_cap: spendCapOf(context, account),
    disable_reason: rest.account_status === 2 ? 1 : 0,
    business: scopes.includes("business_management") ? business : undefined,
  };
}

/** Returns a function that renders accounts with the fields that the call requests. */
export function accountView(context: SandboxContext, { params, grant }: Call) {
  const fields = params.words("fields");
  checkFields(fields, "AdAccount", ACCOUNT_FIELDS);
  return (account: AdAccount) => project(toAccountNode(context, account, grant), fields, ["account_id"]);
}

/** Edges that manage the app's subscription to an account's changes. */
export function subscriptionEdges({ webhooks, settings }: SandboxContext): NodeKind["edges"] {
  const idOf = (call: Call) => accountOf(call).id;
  const scopes = ["ads_management"];
  const toggleSubscription = (toggle: (asset: string) => void) => (call: Call) => {
    toggle(idOf(call));
    return { success: true };
  };
  const app = { id: settings.PLATFORM_APP_ID, name: "Sandbox App" };
  return {
    "POST subscribed_apps": { scopes, answer: toggleSubscription(webhooks.subscribe) },
    "DELETE subscribed_apps": { scopes, answer: toggleSubscription(webhooks.unsubscribe) },
    "GET subscribed_apps": {
      scopes,
      answer: (call) => ({ data: webhooks.isSubscribed(idOf(call)) ? [app] : [] }),
    },
  };
}
