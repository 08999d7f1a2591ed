import type { SandboxContext } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import { checkFields, project } from "../wire/fields.ts";
import { accountOf, isOnPlatform, reachesAccount } from "./accounts.ts";
import { instagramMessages } from "./messages.ts";
import { subscribedApps } from "./subscriptions.ts";

const FIELDS = ["id", "username"];

export const instagramKind = (context: SandboxContext): NodeKind => ({
  name: "instagram account",
  owns: isOnPlatform("instagram"),
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
    ...subscribedApps(context),
    "POST messages": instagramMessages(context),
  },
});
