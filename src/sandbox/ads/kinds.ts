import type { Ground } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import type { Call } from "../wire/call.ts";
import { noSuchObject } from "../wire/graph-error.ts";
import { accountNodes, accountOf, alive, showAccount, subscription } from "./account.ts";
import { type Edges, measures, reads, writes } from "./edges.ts";
import { createInsights } from "./insights/insights.ts";
import type { Measured } from "./insights/query.ts";
import { listImages, uploadImage } from "./media/images.ts";
import { registerVideo, showVideo } from "./media/videos.ts";
import { ad } from "./objects/ad.ts";
import type { AdKind } from "./objects/ad-kind.ts";
import { adSet } from "./objects/ad-set.ts";
import { campaign } from "./objects/campaign.ts";
import { creative } from "./objects/creative.ts";
import { type AdObject, createObjects, type ObjectKind } from "./objects/objects.ts";
import { createReading } from "./read.ts";
import { createWriting } from "./write.ts";

/** The kinds whose objects are made in an account, by the edge they are made at. */
const MADE = { campaigns: campaign, adsets: adSet, ads: ad, adcreatives: creative };

/** Ad accounts and what lives in them. */
export function adKinds(ground: Ground): NodeKind[] {
  const objects = createObjects();
  const reading = createReading(objects);
  const writing = createWriting(ground, objects);
  const insights = createInsights(ground, objects);
  const register = registerVideo(ground, objects);

  const objectOf = ({ method, node }: Pick<Call, "method" | "node">): AdObject => {
    const object = objects.find(node);
    if (!object) throw noSuchObject(method, node);
    return object;
  };

  const nodes = (kind: ObjectKind, edges: Edges): NodeKind => ({
    name: kind,
    owns: (node) => objects.find(node)?.kind === kind,
    reaches: ({ assets }, node) => assets.includes(objects.find(node)?.account.id ?? ""),
    asset: (node) => objects.find(node)?.account.id,
    edges,
  });

  const written = (kind: AdKind): Edges => ({
    GET: reads((call) => reading.one(kind, objectOf(call), call)),
    POST: writes((call) => writing.update(kind, objectOf(call), call)),
    DELETE: writes((call) => writing.remove(objectOf(call))),
  });

  const measured = (of: (call: Call) => Measured): Edges => ({
    "GET insights": measures((call) => insights.ask(of(call), call)),
    "POST insights": measures((call) => insights.order(of(call), call)),
  });
  const ofObject = measured((call) => ({ account: objectOf(call).account, object: objectOf(call) }));

  const made = Object.entries(MADE).flatMap(([edge, kind]) => [
    [`GET ${edge}`, reads((call) => reading.many(kind, objects.list(accountOf(call), kind.kind), call))],
    [`POST ${edge}`, writes((call) => writing.create(kind, accountOf(call), call))],
  ]);
  const media: Edges = {
    "GET adimages": reads((call) => listImages(objects, accountOf(call), call)),
    "POST adimages": writes((call) => uploadImage(objects, accountOf(call), call)),
    "POST advideos": writes((call) => register(accountOf(call), call)),
  };
  const below = (kind: AdKind) =>
    reads((call) => reading.many(kind, objects.within(objectOf(call), kind.kind), call));

  return [
    {
      ...accountNodes,
      edges: alive({
        GET: reads(showAccount),
        ...Object.fromEntries(made),
        ...media,
        ...measured((call) => ({ account: accountOf(call) })),
        ...subscription(ground),
      }),
    },
    nodes("campaign", {
      ...written(campaign),
      ...ofObject,
      "GET adsets": below(adSet),
      "GET ads": below(ad),
    }),
    nodes("adset", { ...written(adSet), ...ofObject, "GET ads": below(ad) }),
    nodes("ad", { ...written(ad), ...ofObject }),
    nodes("creative", written(creative)),
    nodes("video", { GET: reads((call) => showVideo(objectOf(call), call)) }),
    nodes("report", {
      GET: measures((call) => insights.showReport(objectOf(call), call)),
      "GET insights": measures((call) => insights.collect(objectOf(call), call)),
    }),
  ];
}
