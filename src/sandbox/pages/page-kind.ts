import type { Ground } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import type { Call } from "../wire/call.ts";
import { checkFields, project } from "../wire/fields.ts";
import { accountOf, isOf, reachesAccount } from "./accounts.ts";
import { pageMessages } from "./messages.ts";
import { subscribedApps } from "./subscriptions.ts";

const FIELDS = ["id", "name", "instagram_business_account"];

/** A page as the call asks for it. */
export function shownPage(page: string, { params, grant }: Call): unknown {
  const { id, name, instagram } = accountOf(page).page;
  const photos = grant.scopes.includes("instagram_basic") ? instagram : undefined;
  checkFields(params.words("fields"), "Page", FIELDS);
  const view = { id, name, instagram_business_account: photos };
  return project(view, params.words("fields"), ["name", "id"]);
}

export const pageKind = (ground: Ground): NodeKind => ({
  name: "page",
  owns: isOf("messenger"),
  reaches: reachesAccount,
  edges: {
    GET: {
      scopes: ["pages_show_list"],
      usage: "pages",
      answer: (call) => shownPage(call.node, call),
    },
    ...subscribedApps(ground),
    "POST messages": pageMessages(ground),
  },
});
