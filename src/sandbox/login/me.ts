import type { Ground } from "../ground.ts";
import type { Edge } from "../node-kind.ts";
import { meMessages } from "../pages/messages.ts";
import { checkFields, project } from "../wire/fields.ts";
import { PERSON } from "../world.ts";
import { myAdAccounts } from "./my-ad-accounts.ts";
import { myPages } from "./my-pages.ts";

const FIELDS = ["id", "name"];

/** The person behind the token, what was granted, and what the grant reaches. */
export const me = (ground: Ground): Record<string, Edge> => ({
  GET: {
    answer({ params }) {
      const fields = params.words("fields");
      checkFields(fields, "User", FIELDS);
      return project(PERSON, fields, FIELDS);
    },
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

const listed = (permissions: readonly string[], status: "granted" | "declined" | "expired") =>
  permissions.map((permission) => ({ permission, status }));
