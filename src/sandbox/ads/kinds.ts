import type { SandboxContext } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import type { Call } from "../wire/call.ts";
import { noSuchObject } from "../wire/graph-error.ts";
import { accountNodes, accountOf, accountView, subscriptionEdges, withDeadTokens } from "./account.ts";
import { type Edges, insightsEdge, readEdge, writeEdge } from "./edges.ts";
import { createInsights } from "./insights/insights.ts";
import type { InsightsTarget } from "./insights/query.ts";
import { addBuiltInImages, listImages, uploadImage } from "./media/images.ts";
import { registerVideo, showVideo } from "./media/videos.ts";
import { ad } from "./objects/ad.ts";
import type { AdKind } from "./objects/ad-kind.ts";
import { adSet } from "./objects/ad-set.ts";
import { campaign } from "./objects/campaign.ts";
import { creative } from "./objects/creative.ts";
import { type AdObject, createObjects, type ObjectKind } from "./objects/objects.ts";
import { createObjectReader } from "./read.ts";
import { accountUpdater } from "./spend-cap.ts";
import { createObjectWriter } from "./write.ts";

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
