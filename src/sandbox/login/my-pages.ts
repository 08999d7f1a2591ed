import { PAGES, type SocialPage } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import type { Edge } from "../node-kind.ts";
import { checkFields, project } from "../wire/fields.ts";
import { toListPage } from "../wire/list-page.ts";
import { pageTokenExpiry, toSeconds } from "./lifetimes.ts";
import type { Grant } from "./tokens.ts";

const FIELDS = ["id", "name", "access_token", "tasks", "instagram_business_account"];
const TASKS = ["ADVERTISE", "ANALYZE", "CREATE_CONTENT", "MESSAGING", "MODERATE", "MANAGE"];

/** Lists the granted pages, two per list page, each with a page token. */
export const myPages = (context: SandboxContext): Edge => ({
  scopes: ["pages_show_list"],
  answer(call) {
    const { grant, params } = call;
    const fields = params.words("fields");
    checkFields(fields, "Page", FIELDS);
    const show = (page: SocialPage) => project(toPageNode(context, page, grant), fields, FIELDS.slice(0, 4));
    return toListPage(call, PAGES, show, { isVisible: ({ id }) => grant.assets.includes(id), maxLimit: 2 });
  },
});

function toPageNode(context: SandboxContext, page: SocialPage, grant: Grant): Record<string, unknown> {
  const { id, name, instagram } = page;
  const canSeePhotoAccount = instagram && grant.scopes.includes("instagram_basic");
  return {
    id,
    name,
    tasks: TASKS,
    access_token: issuePageToken(context, page, grant),
    ...(canSeePhotoAccount ? { instagram_business_account: instagram } : {}),
  };
}

const issuePageToken = (
  { tokens, now }: SandboxContext,
  { id, instagram }: SocialPage,
  grant: Grant,
): string =>
  tokens.issue({
    ...grant,
    kind: "page",
    assets: instagram ? [id, instagram.id] : [id],
    issued: toSeconds(now()),
    expires: pageTokenExpiry(grant),
  });
