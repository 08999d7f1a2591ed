import type { Ground } from "../ground.ts";
import type { NodeKind } from "../node-kind.ts";

/** Pages and photo accounts, their messages and leads. */
export const pageKinds = (_ground: Ground): NodeKind[] => [];
