import type { Ground } from "../ground.ts";
import type { Edge, NodeKind } from "../node-kind.ts";
import type { Call } from "../wire/call.ts";
import { noSuchObject } from "../wire/graph-error.ts";
import { accountNodes, accountOf, alive, showAccount, subscription } from "./account.ts";
import { ad } from "./ad.ts";
import type { AdKind } from "./ad-kind.ts";
import { adSet } from "./ad-set.ts";
import { campaign } from "./campaign.ts";
import { type AdObject, createObjects } from "./objects.ts";
import { createReading } from "./read.ts";
import { createWriting } from "./write.ts";

type Answer = Edge["answer"];
const reads = (answer: Answer): Edge => ({
  anyScope: ["ads_management", "ads_read"],
  usage: "ads_management",
  answer,
});
const writes = (answer: Answer): Edge => ({ scopes: ["ads_management"], usage: "ads_management", answer });

/** The kinds whose objects are made in an account, by the edge they are made at. */
const MADE = { campaigns: campaign, adsets: adSet, ads: ad };

/** Ad accounts and what lives in them. */
export function adKinds(ground: Ground): NodeKind[] {
  const objects = createObjects();
  const reading = createReading(objects);
  const writing = createWriting(ground, objects);

  const objectOf = ({ method, node }: Call): AdObject => {
    const object = objects.find(node);
    if (!object) throw noSuchObject(method, node);
    return object;
  };

  const nodes = (kind: AdKind, edges: NodeKind["edges"]): NodeKind => ({
    name: kind.type,
    owns: (node) => objects.find(node)?.kind === kind.kind,
    reaches: ({ assets }, node) => assets.includes(objects.find(node)?.account.id ?? ""),
    asset: (node) => objects.find(node)?.account.id,
    edges: {
      GET: reads((call) => reading.one(kind, objectOf(call), call)),
      POST: writes((call) => writing.update(kind, objectOf(call), call)),
      DELETE: writes((call) => writing.remove(objectOf(call))),
      ...edges,
    },
  });

  const made = Object.entries(MADE).flatMap(([edge, kind]) => [
    [`GET ${edge}`, reads((call) => reading.many(kind, objects.list(accountOf(call), kind.kind), call))],
    [`POST ${edge}`, writes((call) => writing.create(kind, accountOf(call), call))],
  ]);
  const below = (kind: AdKind) =>
    reads((call) => reading.many(kind, objects.within(objectOf(call), kind.kind), call));

  return [
    {
      ...accountNodes,
      edges: alive({ GET: reads(showAccount), ...Object.fromEntries(made), ...subscription(ground) }),
    },
    nodes(campaign, { "GET adsets": below(adSet), "GET ads": below(ad) }),
    nodes(adSet, { "GET ads": below(ad) }),
    nodes(ad, {}),
  ];
}
