import { AD_ACCOUNTS, type AdAccount, hasDeadToken } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import { checkFields, project } from "../graph/fields-and-lists.ts";
import { deadToken, noSuchObject } from "../graph/graph-error.ts";
import type { Call, Edge, NodeKind } from "../graph/node.ts";
import type { Grant } from "../graph/tokens.ts";
import { ad, creative } from "./ad-and-creative.ts";
import { accountUpdater, spendCapOf } from "./budgets-and-spend-cap.ts";
import { adSet, campaign } from "./campaign-and-ad-set.ts";
import { addBuiltInImages, listImages, registerVideo, showVideo, uploadImage } from "./images-and-videos.ts";
import { createInsights, type InsightsTarget } from "./insights/insights.ts";
import { type AdKind, type AdObject, createObjects, type ObjectKind } from "./objects.ts";
import { createObjectReader } from "./read-and-filter.ts";
import { createObjectWriter } from "./write-and-review.ts";

type Edges = NodeKind["edges"];

/** Kinds that are created in an account, by the name of their edge. */
const CREATABLE_KINDS = { campaigns: campaign, adsets: adSet, ads: ad, adcreatives: creative };

/** Nodes of ad accounts and the objects in them. */
export function adKinds(context: SandboxContext): NodeKind[] {
  const objects = createObjects();
  addBuiltInImages(objects);
  const reader = createObjectReader(objects);
  const writer = createObjectWriter(context, objects);
  const insights = createInsights(context, objects);
  const register = registerVideo(context, objects);
  const updateAccount = accountUpdater(context);

  const objectOf = ({ method, node }: Pick<Call, "method" | "node">): AdObject => {
    const object = objects.find(node);
    if (!object) throw noSuchObject(method, node);
    return object;
  };

  const toNodeKind = (kind: ObjectKind, edges: Edges): NodeKind => ({
    name: kind,
    owns: (node) => objects.find(node)?.kind === kind,
    reaches: ({ assets }, node) => assets.includes(objects.find(node)?.account.id ?? ""),
    asset: (node) => objects.find(node)?.account.id,
    edges,
  });

  const objectEdges = (kind: AdKind): Edges => ({
    GET: readEdge((call) => reader.show(kind, objectOf(call), call)),
    POST: writeEdge((call) => writer.update(kind, objectOf(call), call)),
    DELETE: writeEdge((call) => writer.remove(objectOf(call))),
  });

  const insightsEdges = (targetOf: (call: Call) => InsightsTarget): Edges => ({
    "GET insights": insightsEdge((call) => insights.readRows(targetOf(call), call)),
    "POST insights": insightsEdge((call) => insights.startReport(targetOf(call), call)),
  });
  const objectInsightsEdges = insightsEdges((call) => ({
    account: objectOf(call).account,
    object: objectOf(call),
  }));

  const creatableEdges = Object.entries(CREATABLE_KINDS).flatMap(([edge, kind]) => [
    [`GET ${edge}`, readEdge((call) => reader.list(kind, objects.list(accountOf(call), kind.kind), call))],
    [`POST ${edge}`, writeEdge((call) => writer.create(kind, accountOf(call), call))],
  ]);
  const media: Edges = {
    "GET adimages": readEdge((call) => listImages(objects, accountOf(call), call)),
    "POST adimages": writeEdge((call) => uploadImage(objects, accountOf(call), call)),
    "POST advideos": writeEdge((call) => register(accountOf(call), call)),
  };
  const childrenEdge = (kind: AdKind) =>
    readEdge((call) => reader.list(kind, objects.listWithin(objectOf(call), kind.kind), call));

  return [
    {
      ...accountNodes,
      edges: withDeadTokens({
        GET: readEdge((call) => accountView(context, call)(accountOf(call))),
        POST: writeEdge((call) => updateAccount(accountOf(call), call)),
        ...Object.fromEntries(creatableEdges),
        ...media,
        ...insightsEdges((call) => ({ account: accountOf(call) })),
        ...subscriptionEdges(context),
      }),
    },
    toNodeKind("campaign", {
      ...objectEdges(campaign),
      ...objectInsightsEdges,
      "GET adsets": childrenEdge(adSet),
      "GET ads": childrenEdge(ad),
    }),
    toNodeKind("adset", { ...objectEdges(adSet), ...objectInsightsEdges, "GET ads": childrenEdge(ad) }),
    toNodeKind("ad", { ...objectEdges(ad), ...objectInsightsEdges }),
    toNodeKind("creative", objectEdges(creative)),
    toNodeKind("video", { GET: readEdge((call) => showVideo(objectOf(call), call)) }),
    toNodeKind("report", {
      GET: insightsEdge((call) => insights.showReport(objectOf(call), call)),
      "GET insights": insightsEdge((call) => insights.readReport(objectOf(call), call)),
    }),
  ];
}

const READ_SCOPES = ["ads_management", "ads_read"];

const readEdge = (answer: Edge["answer"]): Edge => ({
  anyScope: READ_SCOPES,
  usage: "ads_management",
  answer,
});
const writeEdge = (answer: Edge["answer"]): Edge => ({
  scopes: ["ads_management"],
  usage: "ads_management",
  answer,
});
const insightsEdge = (answer: Edge["answer"]): Edge => ({
  anyScope: READ_SCOPES,
  usage: "ads_insights",
  answer,
});

/** Returns the digits of `act_1`; empty for any other node. */
const digitsOf = (node: string) => /^act_(\d+)$/.exec(node)?.[1] ?? "";

const accountsById = new Map(AD_ACCOUNTS.map((account) => [account.id, account]));

function accountOf({ method, node }: Pick<Call, "method" | "node">): AdAccount {
  const account = accountsById.get(digitsOf(node));
  if (!account) throw noSuchObject(method, node);
  return account;
}

/** An account with a dead token is reachable by every grant, so that its error shows. */
const accountNodes: Omit<NodeKind, "edges"> = {
  name: "ad account",
  owns: (node) => accountsById.has(digitsOf(node)) || hasDeadToken(digitsOf(node)),
  reaches: ({ assets }, node) => hasDeadToken(digitsOf(node)) || assets.includes(digitsOf(node)),
  asset: digitsOf,
};

/** Wraps the edges so that accounts with a dead token fail on every call. */
const withDeadTokens = (edges: Edges): Edges =>
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
function subscriptionEdges({ webhooks, settings }: SandboxContext): Edges {
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
