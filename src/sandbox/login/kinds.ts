import type { Ground } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import { debugToken } from "./debug-token.ts";
import { exchange } from "./exchange.ts";
import { me } from "./me.ts";

/** Codes and tokens, and the person behind a token. */
export const loginKinds = (ground: Ground): NodeKind[] => [
  {
    name: "oauth",
    owns: (node) => node === "oauth",
    edges: { "GET access_token": exchange(ground), "POST access_token": exchange(ground) },
  },
  { name: "debug_token", owns: (node) => node === "debug_token", edges: { GET: debugToken(ground) } },
  { name: "me", owns: (node) => node === "me", edges: me(ground) },
];
