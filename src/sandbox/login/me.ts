import { PERSON } from "../built-in-assets.ts";
import type { Ground } from "../context.ts";
import type { Edge } from "../node-kind.ts";
import { pageIn } from "../pages/accounts.ts";
import { meMessages } from "../pages/messages.ts";
import { shownPage } from "../pages/page-kind.ts";
import type { Call } from "../wire/call.ts";
import { checkFields, project } from "../wire/fields.ts";
import { myAdAccounts } from "./my-ad-accounts.ts";
import { myPages } from "./my-pages.ts";

const FIELDS = ["id", "name"];

/** Whoever is behind the token, what was granted, and what the grant reaches. */
export const me = (ground: Ground): Record<string, Edge> => ({
  GET: {
    answer: (call) => (call.grant.kind === "page" ? shownPage(pageIn(call.grant), call) : shownPerson(call)),
  },
  "GET permissions": {
    answer: ({ grant: { scopes, declined, expired = [] } }) => ({
      data: [...listed(scopes, "granted"), ...listed(declined, "declined"), ...listed(expired, "expired")],
    }),
  },
  "DELETE permissions": {
    answer({ token }) {
      ground.tokens.kill(token, 458);
      return { success: true };
    },
  },
  "GET adaccounts": myAdAccounts,
  "GET accounts": myPages(ground),
  "POST messages": meMessages(ground),
});

function shownPerson({ params }: Call): unknown {
  const fields = params.words("fields");
  checkFields(fields, "User", FIELDS);
  return project(PERSON, fields, FIELDS);
}

const listed = (permissions: readonly string[], status: "granted" | "declined" | "expired") =>
  permissions.map((permission) => ({ permission, status }));
