import type { SandboxContext } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import { debugToken } from "./debug-token.ts";
import { exchangeEdge } from "./exchange.ts";
import { meEdges } from "./me.ts";

/** Nodes of the login: code exchange, token inspection and the token's person. */
export const loginKinds = (context: SandboxContext): NodeKind[] => [
  {
    name: "oauth",
    owns: (node) => node === "oauth",
    edges: { "GET access_token": exchangeEdge(context), "POST access_token": exchangeEdge(context) },
  },
  { name: "debug_token", owns: (node) => node === "debug_token", edges: { GET: debugToken(context) } },
  { name: "me", owns: (node) => node === "me", edges: meEdges(context) },
];
