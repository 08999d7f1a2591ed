import type { Ground } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import { checkFields, project } from "../wire/fields.ts";
import { accountOf, isOf, reachesAccount } from "./accounts.ts";
import { instagramMessages } from "./messages.ts";
import { subscribedApps } from "./subscriptions.ts";

const FIELDS = ["id", "username"];

/** A photo account. */
export const instagramKind = (ground: Ground): NodeKind => ({
  name: "instagram account",
  owns: isOf("instagram"),
  reaches: reachesAccount,
  edges: {
    GET: {
      scopes: ["instagram_basic"],
      usage: "instagram",
      answer({ node, params }) {
        checkFields(params.words("fields"), "IGUser", FIELDS);
        return project({ ...accountOf(node).page.instagram }, params.words("fields"), ["id"]);
      },
    },
    ...subscribedApps(ground),
    "POST messages": instagramMessages(ground),
  },
});
