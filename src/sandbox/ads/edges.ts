import type { Edge, NodeKind } from "../node-kind.ts";

type Answer = Edge["answer"];

const READ_SCOPES = ["ads_management", "ads_read"];

export const readEdge = (answer: Answer): Edge => ({
  anyScope: READ_SCOPES,
  usage: "ads_management",
  answer,
});
export const writeEdge = (answer: Answer): Edge => ({
  scopes: ["ads_management"],
  usage: "ads_management",
  answer,
});
export const insightsEdge = (answer: Answer): Edge => ({
  anyScope: READ_SCOPES,
  usage: "ads_insights",
  answer,
});

export type Edges = NodeKind["edges"];
