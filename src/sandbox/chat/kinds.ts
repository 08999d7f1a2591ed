import type { SandboxContext } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import { mediaKind } from "./media/media-kind.ts";
import { phoneNumberKind } from "./phone-number-kind.ts";
import { templateKind } from "./templates/template-kind.ts";
import { wabaKind } from "./waba-kind.ts";

/** Nodes of the chat platform: business accounts, numbers, templates and media. */
export const chatKinds = (context: SandboxContext): NodeKind[] =>
  [wabaKind, phoneNumberKind, templateKind, mediaKind].map((kind) => kind(context));
