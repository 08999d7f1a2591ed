import type { SandboxContext } from "../context.ts";
import { checkFields, project } from "../graph/fields-and-lists.ts";
import type { Call, NodeKind } from "../graph/node.ts";
import { accountOf, isOnPlatform, reachesAccount, subscribedApps } from "./accounts-and-subscriptions.ts";
import { leadKind } from "./leads.ts";
import { instagramMessages, pageMessages } from "./messages.ts";

/** Nodes of pages, photo accounts and leads. */
export const pageKinds = (context: SandboxContext): NodeKind[] =>
  [pageKind, instagramKind, leadKind].map((kind) => kind(context));

const pageKind = (context: SandboxContext): NodeKind => ({
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

const PAGE_FIELDS = ["id", "name", "instagram_business_account"];

export function showPage(page: string, { params, grant }: Call): unknown {
  const { id, name, instagram } = accountOf(page).page;
  const photoAccount = grant.scopes.includes("instagram_basic") ? instagram : undefined;
  checkFields(params.words("fields"), "Page", PAGE_FIELDS);
  const pageNode = { id, name, instagram_business_account: photoAccount };
  return project(pageNode, params.words("fields"), ["name", "id"]);
}

const PHOTO_ACCOUNT_FIELDS = ["id", "username"];

const instagramKind = (context: SandboxContext): NodeKind => ({
  name: "instagram account",
  owns: isOnPlatform("instagram"),
  reaches: reachesAccount,
  edges: {
    GET: {
      scopes: ["instagram_basic"],
      usage: "instagram",
      answer({ node, params }) {
        checkFields(params.words("fields"), "IGUser", PHOTO_ACCOUNT_FIELDS);
        return project({ ...accountOf(node).page.instagram }, params.words("fields"), ["id"]);
      },
    },
    ...subscribedApps(context),
    "POST messages": instagramMessages(context),
  },
});
