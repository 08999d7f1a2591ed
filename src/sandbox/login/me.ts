import { PERSON } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import type { Edge } from "../node-kind.ts";
import { pageIdOf } from "../pages/accounts.ts";
import { meMessages } from "../pages/messages.ts";
import { showPage } from "../pages/page-kind.ts";
import type { Call } from "../wire/call.ts";
import { checkFields, project } from "../wire/fields.ts";
import { myAdAccounts } from "./my-ad-accounts.ts";
import { myPages } from "./my-pages.ts";

const FIELDS = ["id", "name"];

/** The person or page of the token, its permissions, and the assets it covers. */
export const meEdges = (context: SandboxContext): Record<string, Edge> => ({
  GET: {
    answer: (call) => (call.grant.kind === "page" ? showPage(pageIdOf(call.grant), call) : showPerson(call)),
  },
  "GET permissions": {
    answer: ({ grant: { scopes, declined, expired = [] } }) => ({
      data: [
        ...toPermissionItems(scopes, "granted"),
        ...toPermissionItems(declined, "declined"),
        ...toPermissionItems(expired, "expired"),
      ],
    }),
  },
  "DELETE permissions": {
    answer({ token }) {
      context.tokens.revoke(token, 458);
      return { success: true };
    },
  },
  "GET adaccounts": myAdAccounts(context),
  "GET accounts": myPages(context),
  "POST messages": meMessages(context),
});

function showPerson({ params }: Call): unknown {
  const fields = params.words("fields");
  checkFields(fields, "User", FIELDS);
  return project(PERSON, fields, FIELDS);
}

const toPermissionItems = (permissions: readonly string[], status: "granted" | "declined" | "expired") =>
  permissions.map((permission) => ({ permission, status }));
