import type { Ground } from "../ground.ts";
import type { NodeKind } from "../node-kind.ts";

/** Ad accounts and what lives in them. */
export const adKinds = (_ground: Ground): NodeKind[] => [];
