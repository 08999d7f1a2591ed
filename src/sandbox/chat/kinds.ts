import type { Ground } from "../ground.ts";
import type { NodeKind } from "../node-kind.ts";

/** Chat businesses, their numbers, templates, messages and media. */
export const chatKinds = (_ground: Ground): NodeKind[] => [];
