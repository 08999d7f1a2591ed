import type { SandboxContext } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import { instagramKind } from "./instagram-kind.ts";
import { leadKind } from "./leads.ts";
import { pageKind } from "./page-kind.ts";

/** Nodes of pages, photo accounts and leads. */
export const pageKinds = (context: SandboxContext): NodeKind[] =>
  [pageKind, instagramKind, leadKind].map((kind) => kind(context));
