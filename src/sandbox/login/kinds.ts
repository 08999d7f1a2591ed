import type { Ground } from "../ground.ts";
import type { NodeKind } from "../node-kind.ts";

/** Tokens, and what a token may say about its person. */
export const loginKinds = (_ground: Ground): NodeKind[] => [];
