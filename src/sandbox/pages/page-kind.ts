import type { SandboxContext } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import type { Call } from "../wire/call.ts";
import { checkFields, project } from "../wire/fields.ts";
import { accountOf, isOnPlatform, reachesAccount } from "./accounts.ts";
import { pageMessages } from "./messages.ts";
import { subscribedApps } from "./subscriptions.ts";

const FIELDS = ["id", "name", "instagram_business_account"];

export function showPage(page: string, { params, grant }: Call): unknown {
  const { id, name, instagram } = accountOf(page).page;
  const photoAccount = grant.scopes.includes("instagram_basic") ? instagram : undefined;
  checkFields(params.words("fields"), "Page", FIELDS);
  const pageNode = { id, name, instagram_business_account: photoAccount };
  return project(pageNode, params.words("fields"), ["name", "id"]);
}

export const pageKind = (context: SandboxContext): NodeKind => ({
  name: "page",
  owns: isOnPlatform("messenger"),
  reaches: reachesAccount,
  edges: {
    GET: {
      scopes: ["pages_show_list"],
      usage: "pages",
      answer: (call) => showPage(call.node, call),
    },
    ...subscribedApps(context),
    "POST messages": pageMessages(context),
  },
});
