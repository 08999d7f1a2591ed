import type { Edge, NodeKind } from "../node-kind.ts";

type Answer = Edge["answer"];

const READERS = ["ads_management", "ads_read"];

export const reads = (answer: Answer): Edge => ({ anyScope: READERS, usage: "ads_management", answer });
export const writes = (answer: Answer): Edge => ({
  scopes: ["ads_management"],
  usage: "ads_management",
  answer,
});
export const measures = (answer: Answer): Edge => ({ anyScope: READERS, usage: "ads_insights", answer });

export type Edges = NodeKind["edges"];
